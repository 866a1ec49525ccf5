import type { Queries, Row } from "../../../engine/database.ts";
import { type ActionLevel, toLevelName } from "./levels.ts";

/** A table whose rows belong to a level, with names that are unique in it: secrets and variables of workflows. */
interface NamedTable<R extends Row, T> {
  readonly name: string;
  readonly columns: string;
  readonly toRecord: (row: R) => T;
}

/** A page of a level, and the count of all. */
export interface NamedPage<T> {
  readonly records: readonly T[];
  readonly total: number;
}

/** The statements that tables of named rows have in common. */
export interface NamedRows<T> {
  /** Deletes the row of a name. Returns whether it existed. */
  delete(db: Queries, level: ActionLevel, name: string): Promise<boolean>;
  find(db: Queries, level: ActionLevel, name: string): Promise<T | undefined>;
  /** Pages are in the order of names. */
  list(
    db: Queries,
    level: ActionLevel,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<NamedPage<T>>;
  /** Lists the rows of several levels, those of the first level first. */
  listOfLevels(db: Queries, levels: readonly ActionLevel[]): Promise<T[]>;
}

export function createNamedRows<R extends Row, T>(table: NamedTable<R, T>): NamedRows<T> {
  const select = `SELECT ${table.columns} FROM ${table.name} WHERE level = ?`;
  return {
    async delete(db, level, name) {
      const { changes } = await db.run(
        `DELETE FROM ${table.name} WHERE level = ? AND name = ?`,
        toLevelName(level),
        name,
      );
      return changes > 0;
    },

    async find(db, level, name) {
      const row = await db.get<R>(`${select} AND name = ?`, toLevelName(level), name);
      return row && table.toRecord(row);
    },

    async list(db, level, { limit, offset }) {
      const name = toLevelName(level);
      const counted = await db.get<{ total: number }>(
        `SELECT COUNT(*) AS total FROM ${table.name} WHERE level = ?`,
        name,
      );
      const page = `${select} ORDER BY name LIMIT ? OFFSET ?`;
      const rows = await db.all<R>(page, name, limit, offset);
      return { records: rows.map(table.toRecord), total: counted?.total ?? 0 };
    },

    async listOfLevels(db, levels) {
      const found: T[] = [];
      for (const level of levels) {
        const rows = await db.all<R>(`${select} ORDER BY name`, toLevelName(level));
        found.push(...rows.map(table.toRecord));
      }
      return found;
    },
  };
}
