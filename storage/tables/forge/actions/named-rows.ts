import type { Queries } from "../../../engine/database.ts";
import { type Condition, sql } from "../../condition.ts";
import type { Page, Window } from "../../table.ts";
import { type ActionLevel, toLevelName } from "./levels.ts";

/** A table whose rows belong to a level, with names that are unique in it: secrets and variables of workflows. */
interface NamedTable<T> {
  find(db: Queries, where: Condition): Promise<T | undefined>;
  list(db: Queries, where: Condition, listing: { readonly order: string }): Promise<T[]>;
  page(
    db: Queries,
    where: Condition,
    window: Window & { readonly order: string },
  ): Promise<Page<T>>;
  delete(db: Queries, where: Condition): Promise<number>;
}

/** The statements that tables of named rows have in common. */
export interface NamedRows<T> {
  /** Deletes the row of a name. Returns whether it existed. */
  delete(db: Queries, level: ActionLevel, name: string): Promise<boolean>;
  find(db: Queries, level: ActionLevel, name: string): Promise<T | undefined>;
  /** Pages are in the order of names. */
  list(db: Queries, level: ActionLevel, window: Window): Promise<Page<T>>;
  /** Lists the rows of several levels, those of the first level first. */
  listOfLevels(db: Queries, levels: readonly ActionLevel[]): Promise<T[]>;
  /** Counts the rows of a level, without that of a name, and the bytes that their values take as they are stored. */
  measureOthers(
    db: Queries,
    level: ActionLevel,
    name: string,
  ): Promise<{ readonly count: number; readonly bytes: number }>;
}

/** `stored` names the table and the column of the values. */
export function createNamedRows<T>(
  table: NamedTable<T>,
  stored: { readonly table: string; readonly value: string },
): NamedRows<T> {
  const of = (level: ActionLevel) => sql`level = ${toLevelName(level)}`;
  return {
    delete: async (db, level, name) =>
      (await table.delete(db, sql`${of(level)} AND name = ${name}`)) > 0,

    find: (db, level, name) => table.find(db, sql`${of(level)} AND name = ${name}`),

    list: (db, level, { limit, offset }) =>
      table.page(db, of(level), { limit, offset, order: "name" }),

    async listOfLevels(db, levels) {
      const found: T[] = [];
      for (const level of levels)
        found.push(...(await table.list(db, of(level), { order: "name" })));
      return found;
    },

    async measureOthers(db, level, name) {
      const row = await db.get<{ count: number; bytes: number | null }>(
        `SELECT COUNT(*) AS count, SUM(octet_length(${stored.value})) AS bytes
         FROM ${stored.table} WHERE level = ? AND name <> ?`,
        toLevelName(level),
        name,
      );
      return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) };
    },
  };
}
