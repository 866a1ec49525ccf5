import { type PageSource, readPages } from "../../output/pages.ts";
import {
  type DashboardRow,
  ROWS_MAX,
  ROWS_PER_PAGE,
  type RowRequest,
  type SectionContent,
} from "../../ui/dashboard/section.ts";

/** Reads the pages of a list until there are `count` items, and returns how many there are in all. */
export async function readRows<T>(
  source: PageSource<T>,
  count: number,
): Promise<{ readonly items: readonly T[]; readonly total: number }> {
  const items: T[] = [];
  let total = 0;
  for await (const page of readPages(source, { page: 1, limit: ROWS_PER_PAGE, all: true })) {
    items.push(...page.items);
    total = page.total ?? items.length;
    if (items.length >= count) break;
  }
  return { items, total };
}

/** Returns the number of rows to read. A search by text looks through the list, also through rows that are not shown yet. */
export function countOf({ filter, count }: RowRequest): number {
  return filter === "" ? count : ROWS_MAX;
}

/** Returns the rows that have the text of the filter in a cell, whatever its case. `total` rows are in the list. */
export function toContent(
  rows: readonly DashboardRow[],
  total: number,
  { filter }: RowRequest,
): Pick<SectionContent, "rows" | "total"> {
  if (filter === "") return { rows, total };
  const query = filter.toLowerCase();
  const found = rows.filter(({ cells }) =>
    cells.some((cell) => cell.toLowerCase().includes(query)),
  );
  return { rows: found, total: found.length };
}
