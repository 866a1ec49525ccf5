/** The requested page of a list; pages count from 1. */
export interface PageWindow {
  readonly page: number;
  readonly limit: number;
}

/** Returns the rows of a page. Offsets are clamped to the safe integers, which are past the end of every list. */
export function toRows({ page, limit }: PageWindow): {
  readonly limit: number;
  readonly offset: number;
} {
  return { limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) };
}
