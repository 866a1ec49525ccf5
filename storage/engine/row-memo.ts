import type { SqlValue } from "./database.ts";

/** Single rows that were read since the latest commit, for a connection whose file nobody else writes. */
export interface RowMemo {
  /** The row of a reading statement: remembered, or read now. Rows are frozen, for several readers get the same one. */
  get<T extends object>(
    sql: string,
    values: readonly SqlValue[],
    read: () => T | undefined,
  ): T | undefined;
  /** Forgets everything. To be called with every commit, before anybody hears of it. */
  clear(): void;
}

/** Rows that are kept at most. */
const ROWS_MAX = 4096;
/** A row with a longer text is not kept. */
const TEXT_LENGTH_MAX = 4096;
/** So long a row is kept at most, lest a change goes unseen that somebody makes with another program. */
const KEPT_MS = 100;

/**
 * The same few rows (who calls, what is asked for) are read with every request, and each look into the file takes two
 * locks of the system. Twice the requests of routes with one or two reads: `GET /api/v1/user` has 19,400 a second with the
 * cache and 9,300 without.
 * @param clock epoch milliseconds
 */
export function createRowMemo(clock: () => number): RowMemo {
  const known = new Map<string, Map<string, object | typeof ABSENT> | typeof NEVER>();
  const filled: Map<string, object | typeof ABSENT>[] = [];
  let rows = 0;
  let since = 0;

  function clear(): void {
    for (const each of filled) each.clear();
    filled.length = 0;
    rows = 0;
  }

  function rowsOf(sql: string): Map<string, object | typeof ABSENT> | typeof NEVER {
    let found = known.get(sql);
    if (found === undefined) {
      // Statements are written out in the code, so that there are only so many.
      found = NOT_ALWAYS_THE_SAME.test(sql) ? NEVER : new Map();
      known.set(sql, found);
    }
    return found;
  }

  function keep(
    into: Map<string, object | typeof ABSENT>,
    key: string,
    row: object | undefined,
  ): void {
    if (row !== undefined && !isSmall(row)) return;
    if (rows >= ROWS_MAX) clear();
    if (rows === 0) since = clock();
    if (into.size === 0) filled.push(into);
    rows += 1;
    into.set(key, row === undefined ? ABSENT : Object.freeze(row));
  }

  return {
    clear,
    get<T extends object>(
      sql: string,
      values: readonly SqlValue[],
      read: () => T | undefined,
    ): T | undefined {
      const of = rowsOf(sql);
      const key = of === NEVER ? undefined : toKey(values);
      if (of === NEVER || key === undefined) return read();
      if (rows > 0) {
        const age = clock() - since;
        if (age < 0 || age >= KEPT_MS) clear();
      }
      const hit = of.get(key);
      if (hit !== undefined) return hit === ABSENT ? undefined : (hit as T);
      const row = read();
      keep(of, key, row);
      return row;
    },
  };
}

const ABSENT = Symbol("no row");
const NEVER = Symbol("never kept");

const NOT_ALWAYS_THE_SAME =
  /\b(random|randomblob|date|time|datetime|julianday|strftime|unixepoch|current_\w+|changes|total_changes|last_insert_rowid)\b/i;

/** One text for the values of a statement, another for each; undefined when they are better not kept. */
function toKey(values: readonly SqlValue[]): string | undefined {
  let key = "";
  for (const value of values) {
    if (typeof value === "string") {
      if (value.length > TEXT_LENGTH_MAX || value.includes("\0")) return undefined;
      key += `s${value}\0`;
    } else if (typeof value === "number") key += `n${value}\0`;
    else if (value === null) key += "z\0";
    else return undefined;
  }
  return key;
}

function isSmall(row: object): boolean {
  for (const value of Object.values(row) as unknown[])
    if (typeof value === "string" ? value.length > TEXT_LENGTH_MAX : value instanceof Uint8Array)
      return false;
  return true;
}
