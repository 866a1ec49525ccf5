import type { SqlValue } from "../../engine/database.ts";

/** Where in an order a row stands: the sort value and the id. */
export interface Mark {
  readonly value: SqlValue;
  readonly id: number;
}

/**
 * What is remembered about the orders of long lists: the row at every few hundredth place, so that a far page is reached
 * without walking over all the rows before it. Only a cache: it holds for one generation of the data and can be
 * thrown away at any time. Bounded: the order that was not used for longest is forgotten.
 */
export interface ListMarks {
  /**
   * The mark at or before `offset` in the order called `key`, and its place. Missing marks are asked of `next`: the
   * row `MARK_DISTANCE` places after a mark (or the beginning), undefined past the end.
   */
  find(
    key: string,
    generation: number,
    offset: number,
    next: (after: Mark | undefined) => Promise<Mark | undefined>,
  ): Promise<{ readonly mark: Mark; readonly place: number } | undefined>;
}

/** Rows between two marks. */
export const MARK_DISTANCE = 500;
const ORDERS_MAX = 32;

export function createListMarks(): ListMarks {
  const orders = new Map<string, { readonly generation: number; readonly marks: Mark[] }>();
  return {
    async find(key, generation, offset, next) {
      const wanted = Math.floor(offset / MARK_DISTANCE);
      if (wanted === 0) return undefined;
      const known = orders.get(key);
      const order = known?.generation === generation ? known : { generation, marks: [] };
      orders.delete(key);
      orders.set(key, order);
      for (const oldest of orders.keys()) {
        if (orders.size <= ORDERS_MAX) break;
        orders.delete(oldest);
      }
      // Two requests may extend the same order at once: each adds what follows the marks that it has seen.
      let { length } = order.marks;
      while (length < wanted) {
        const mark = await next(order.marks[length - 1]);
        if (mark === undefined) return undefined;
        order.marks[length] = mark;
        length += 1;
      }
      const mark = order.marks[wanted - 1];
      return mark && { mark, place: wanted * MARK_DISTANCE };
    },
  };
}
