import type { Database, Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { type KeysetCursors, type Cursor, CURSOR_DISTANCE } from "./keyset-cursors.ts";
import {
  type FacetFilter,
  type FacetSelection,
  getPeopleGeneration,
  selectFacets,
} from "./user-facets.ts";
import { toSearchCondition } from "./user-search.ts";
import { type ForgeUser, users } from "./users.ts";
import { type Window } from "../../table.ts";
import type { UserId } from "../ids.ts";
import { sql } from "../../condition.ts";

export type UserSort = "name" | "created" | "updated" | "id";

/** Filter and order of a list of accounts. */
export interface UserListQuery extends FacetFilter {
  /** Searched in name, full name and address, case-insensitively; `%` and `_` are wildcards. Empty: everything. */
  readonly term: string;
  /** Exact login name of an external source; empty: everything. */
  readonly loginName: string;
  readonly sort: UserSort;
  readonly descending: boolean;
}

export interface UserPage {
  readonly users: readonly ForgeUser[];
  /** Count of all matches. */
  readonly total: number;
}

/** The text and values of a statement. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * Returns a page of accounts and the exact count of all matches, at a cost that does not grow with the number of
 * accounts: totals come from the counts of facets, filters and orders from indexes, far pages from cached cursors. A
 * search term costs time in proportion to its matches, or a scan of every account's text where no index applies (see
 * `toSearchCondition`).
 *
 * With WHERE, ORDER BY, LIMIT and COUNT over 100,000 users instead, counting alone took 2 to 9 ms and a filtered page in
 * the middle 25 to 134 ms, against 1.2 ms for the whole request.
 */
export async function listUsers(
  db: Database,
  query: UserListQuery,
  window: Window,
  cursors: KeysetCursors,
): Promise<UserPage> {
  const generation = await getPeopleGeneration(db);
  const selection = await selectFacets(db, query);
  if (selection.selected === 0) return { users: [], total: 0 };
  const isWhole = query.term === "" && query.loginName === "";
  const total = isWhole ? selection.selected : await countMatches(db, query, selection);
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { users: [], total };
  // The second half of a list is read from its end: no page is further away than half of the rows.
  const fromEnd = total - window.offset - limit;
  const backwards = fromEnd < window.offset;
  const order = { ...query, descending: query.descending !== backwards };
  const offset = backwards ? fromEnd : window.offset;
  const start = isWhole
    ? await findCursor(db, order, selection, offset, generation, cursors)
    : undefined;
  const page = toPageStatement(
    db.dialect,
    order,
    selection,
    { limit, offset: offset - (start?.place ?? 0) },
    start?.cursor,
  );
  const found = await users.readAll(db, page.sql, ...page.values);
  return { users: found.sort(toComparison(query)), total };
}

/**
 * Returns the statement for a page, counted from a cursor if there is one; exported for tests of its query plan. Rows come
 * in no order: sorting the few of them is cheaper here than in the database.
 */
export function toPageStatement(
  dialect: Database["dialect"],
  query: UserListQuery,
  selection: FacetSelection,
  window: Window,
  from?: Cursor,
): Statement {
  const ids = toIdsStatement(dialect, query, selection, from);
  return {
    sql:
      `SELECT ${users.as("u").columns} FROM (${ids.sql} ORDER BY ${toOrder(query)} LIMIT ? OFFSET ?) page ` +
      "JOIN forge_users u ON u.id = page.id",
    values: [...ids.values, window.limit, window.offset],
  };
}

function findCursor(
  db: Database,
  query: UserListQuery,
  selection: FacetSelection,
  offset: number,
  generation: number,
  cursors: KeysetCursors,
): ReturnType<KeysetCursors["find"]> {
  const key = JSON.stringify([query.kind, query.sort, query.descending, selection.facets]);
  return cursors.find(key, generation, offset, async (after) => {
    const ids = toIdsStatement(db.dialect, query, selection, after);
    const row = await db.get<{ id: UserId; sort_value: SqlValue }>(
      `${ids.sql} ORDER BY ${toOrder(query)} LIMIT 1 OFFSET ?`,
      ...ids.values,
      CURSOR_DISTANCE,
    );
    return row && { id: row.id, value: row.sort_value };
  });
}

/** Below this part of all accounts, ranges per facet are faster than reading the whole order and dropping rows. */
const SMALL_PART = 1 / 4;
/** Most ranges that are merged. */
const RANGES_MAX = 64;

/** Returns the statement for ids and sort values of the selected accounts from a cursor on, unordered. */
function toIdsStatement(
  dialect: Database["dialect"],
  query: UserListQuery,
  selection: FacetSelection,
  from: Cursor | undefined,
): Statement {
  const column = sortColumns[query.sort];
  const select = `SELECT id, ${column} AS sort_value FROM forge_users WHERE`;
  const kind = query.kind === "individual" ? 0 : 1;
  if (query.term !== "" || query.loginName !== "") {
    const matches = toMatchCondition(dialect, query, selection);
    return { sql: `${select} ${matches.sql}`, values: matches.values };
  }
  const comparison = query.descending ? "<=" : ">=";
  const [after, cursor]: [string, SqlValue[]] =
    from === undefined
      ? ["", []]
      : query.sort === "id"
        ? [` AND id ${comparison} ?`, [from.id]]
        : [` AND (${column}, id) ${comparison} (?, ?)`, [from.value, from.id]];
  if (selection.selected === selection.ofKind)
    return { sql: `${select} kind = ?${after}`, values: [kind, ...cursor] };
  const facets = padded(selection.facets);
  if (selection.selected > selection.ofKind * SMALL_PART || facets.length > RANGES_MAX)
    return {
      // The sign keeps the planner from using an index on the facet instead of the order's.
      sql: `${select} kind = ?${after} AND +facet IN (${placeholders(facets)})`,
      values: [kind, ...cursor, ...facets],
    };
  return {
    sql: facets.map(() => `${select} facet = ?${after}`).join(" UNION ALL "),
    values: facets.flatMap((facet) => [facet, ...cursor]),
  };
}

function toMatchCondition(
  dialect: Database["dialect"],
  query: UserListQuery,
  selection: FacetSelection,
): Statement {
  const facets = padded(selection.facets);
  const conditions = [`+facet IN (${placeholders(facets)})`];
  const values: SqlValue[] = [...facets];
  if (query.loginName !== "") {
    conditions.push("login_name = ?", "login_name <> ''");
    values.push(query.loginName);
  }
  if (query.term !== "") {
    const found = toSearchCondition(dialect, query.term);
    conditions.push(`id IN (${found.sql})`);
    values.push(...found.values);
  }
  return { sql: conditions.join(" AND "), values };
}

async function countMatches(
  db: Database,
  query: UserListQuery,
  selection: FacetSelection,
): Promise<number> {
  const matches = toMatchCondition(db.dialect, query, selection);
  const row = await (db satisfies Queries).get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_users WHERE ${matches.sql}`,
    ...matches.values,
  );
  return row?.total ?? 0;
}

const sortColumns: Readonly<Record<UserSort, string>> = {
  name: "name",
  created: "created_at",
  updated: "updated_at",
  id: "id",
};

const sortMembers = {
  name: "name",
  created: "createdAt",
  updated: "updatedAt",
  id: "id",
} as const satisfies Readonly<Record<UserSort, keyof ForgeUser>>;

/** Returns the ORDER BY of a page. All branches of a union name the sort column alike. */
function toOrder(query: UserListQuery): string {
  const direction = query.descending ? "DESC" : "ASC";
  return query.sort === "id" ? `id ${direction}` : `sort_value ${direction}, id ${direction}`;
}

/** Compares records in the same order. Names are ASCII, so code units compare as the database's bytes do. */
function toComparison({ sort, descending }: UserListQuery) {
  const sign = descending ? -1 : 1;
  const member = sortMembers[sort];
  return (a: ForgeUser, b: ForgeUser): number => {
    const [aValue, bValue] = [a[member], b[member]];
    if (aValue !== bValue) return aValue < bValue ? -sign : sign;
    return (a.id - b.id) * sign;
  };
}

/** Pads facets to a power of two with one that no account has, so that few distinct statements are cached. */
function padded(facets: readonly number[]): number[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(facets.length, 1)));
  return [...facets, ...Array<number>(size - facets.length).fill(-1)];
}

const placeholders = (values: readonly unknown[]): string => values.map(() => "?").join(", ");

/**
 * Whether a site administrator other than `exceptId` can sign in. Call it in the transaction that takes one away.
 */
export async function hasOtherActiveSiteAdmin(tx: Transaction, exceptId: UserId): Promise<boolean> {
  return users.exists(
    tx,
    sql`is_admin = 1 AND is_active = 1 AND prohibit_login = 0 AND kind = 0 AND id <> ${exceptId}`,
  );
}

/** Whether any person has an account. */
export async function hasAnyIndividual(db: Queries): Promise<boolean> {
  return (await db.get("SELECT id FROM forge_users WHERE kind = 0 LIMIT 1")) !== undefined;
}
