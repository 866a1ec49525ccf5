import type Sqlite from "better-sqlite3";
import type { Changes, SqlValue } from "./database.ts";
import { assertOrdinary } from "./sql-text.ts";
import { toSqliteStorageError } from "./sqlite-errors.ts";
import { createTextCache } from "./text-cache.ts";
import { assertExact, assertStorable } from "./values.ts";

/** The prepared statements of one connection. Every failure is a `StorageError`. */
export type Statements = ReturnType<typeof createStatements>;

type Statement = Sqlite.Statement<unknown[], object>;

/** Prepares statements on `connection` and caches them by their text. */
export function createStatements(connection: Sqlite.Database) {
  const prepare = createTextCache((sql): Statement => {
    assertOrdinary(sql);
    return connection.prepare<unknown[], object>(sql);
  });

  function guarded<T>(sql: string, use: (statement: Statement) => T): T {
    try {
      return use(prepare(sql));
    } catch (error) {
      throw toSqliteStorageError(error, sql);
    }
  }

  return {
    /** Returns whether the statement only reads. */
    isRead: (sql: string): boolean => guarded(sql, (statement) => statement.readonly),
    get<T extends object>(sql: string, values: readonly SqlValue[]): T | undefined {
      return guarded(sql, (statement) => {
        // The driver's `get` ignores errors of the reset after the first row. A RETURNING statement commits there, so a full
        // disk would go unnoticed. Therefore statements that change rows run to their end.
        const row =
          statement.readonly && statement.reader
            ? statement.get(...toBound(values))
            : rowsOf(statement, values)[0];
        return row === undefined ? undefined : (assertExact(row) as T);
      });
    },
    all<T extends object>(sql: string, values: readonly SqlValue[]): T[] {
      return guarded(sql, (statement) => {
        const rows = rowsOf(statement, values);
        for (const row of rows) assertExact(row);
        return rows as T[];
      });
    },
    run: (sql: string, values: readonly SqlValue[]): Changes =>
      guarded(sql, (statement) => {
        if (!statement.reader) return { changes: statement.run(...toBound(values)).changes };
        const rows = rowsOf(statement, values);
        return { changes: statement.readonly ? 0 : rows.length };
      }),
  };
}

function rowsOf(statement: Statement, values: readonly SqlValue[]): object[] {
  if (statement.reader) return statement.all(...toBound(values));
  statement.run(...toBound(values));
  return [];
}

/**
 * Binds whole numbers as 64-bit integers: the driver binds a number as REAL, which divides and concatenates differently.
 * Returns a copy because a statement may be retried.
 */
function toBound(values: readonly SqlValue[]): unknown[] {
  const bound: unknown[] = [];
  for (const value of values) {
    assertStorable(value);
    bound.push(Number.isInteger(value) ? BigInt(value as number) : value);
  }
  return bound;
}
