/** One page of a list, as the output needs it. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Number of this page, from 1; null where the list is paginated by a cursor. */
  readonly page: number | null;
  /** Items on a full page; null when unknown. */
  readonly limit: number | null;
  /** Number of all items; null when the server does not report it. */
  readonly total: number | null;
  readonly hasMore: boolean;
}

/** The page that the flags of a list select. */
export interface PageOptions {
  readonly page: number | undefined;
  readonly limit: number | undefined;
  /** All pages will be read. */
  readonly all: boolean;
}

/** A list that is read page by page. `first` returns the page that the flags select, `next` the one after `page`. */
export interface PageSource<T> {
  first(options: PageOptions): Promise<Page<T>>;
  next(page: Page<T>): Promise<Page<T>>;
}

/** A list that is complete from the start. `--page` and `--limit` cut it. */
export function wholeList<T>(items: readonly T[]): PageSource<T> {
  const cut = (page: number, limit: number): Page<T> => ({
    items: items.slice((page - 1) * limit, page * limit),
    page,
    limit,
    total: items.length,
    hasMore: page * limit < items.length,
  });
  return {
    first: async ({ page, limit }) => cut(page ?? 1, limit ?? Math.max(1, items.length)),
    next: async (page) => cut((page.page ?? 1) + 1, page.limit ?? Math.max(1, items.length)),
  };
}

/** Yields the pages that the flags select, in order. */
export async function* readPages<T>(
  source: PageSource<T>,
  flags: {
    readonly page: number | undefined;
    readonly limit: number | undefined;
    readonly all: boolean;
  },
): AsyncGenerator<Page<T>> {
  let page = await source.first(flags);
  yield page;
  while (flags.all && page.hasMore) {
    page = await source.next(page);
    yield page;
  }
}

/** Returns the items of all pages. */
export async function readAll<T>(source: PageSource<T>): Promise<T[]> {
  const all: T[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(source, flags)) all.push(...items);
  return all;
}

/** Returns the first item that matches, reading only as many pages as needed. */
export async function findFirst<T>(
  source: PageSource<T>,
  fits: (item: T) => boolean,
): Promise<T | undefined> {
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(source, flags)) {
    const found = items.find(fits);
    if (found !== undefined) return found;
  }
  return undefined;
}
