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
}

export function createNamedRows<T>(table: NamedTable<T>): NamedRows<T> {
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
  };
}
