/** Which page of a list is wanted; pages count from 1 (forge behaviour, 4.2). */
export interface PageWindow {
  readonly page: number;
  readonly limit: number;
}

/** The rows of a page, as tables take them. A page whose beginning is no exact number any more is past every end. */
export function toRows({ page, limit }: PageWindow): {
  readonly limit: number;
  readonly offset: number;
} {
  return { limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) };
}
