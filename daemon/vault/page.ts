/** The requested part of a list; pages count from 1. */
export interface PageRequest {
  readonly page: number;
  readonly perPage: number;
}

/** The query of a list. */
export function toPageRequest(query: {
  readonly page: number;
  readonly per_page: number;
}): PageRequest {
  return { page: query.page, perPage: query.per_page };
}

/** One page of a list, in the vault's form. */
export function toPage<Item>(items: Item[], total: number, { page, perPage }: PageRequest) {
  return { items, total, page, per_page: perPage };
}
