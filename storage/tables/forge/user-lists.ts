import type { Queries, SqlValue } from "../../engine/database.ts";
import { type FacetFilter, type FacetSelection, selectFacets } from "./user-facets.ts";
import { type ForgeUser, toUser, toUserColumns, type UserRow } from "./users.ts";

export type UserSort = "name" | "created" | "updated" | "id";

/** What a list of accounts shows. */
export interface UserListQuery extends FacetFilter {
  /** Found in name, full name or address whatever the case; `%` and `_` are wildcards. Empty: everything. */
  readonly term: string;
  /** Exact external name; empty: everything. */
  readonly loginName: string;
  readonly sort: UserSort;
  readonly descending: boolean;
}

export interface UserPage {
  readonly users: readonly ForgeUser[];
  /** All matches. */
  readonly total: number;
}

/** One statement's text and values. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * One page of accounts and the exact count of all matches. Filters and sorting are served by indexes; a search
 * term reads the search text of every account.
 */
export async function listUsers(
  db: Queries,
  query: UserListQuery,
  window: { readonly limit: number; readonly offset: number },
): Promise<UserPage> {
  const selection = await selectFacets(db, query);
  if (selection.selected === 0) return { users: [], total: 0 };
  const isWhole = query.term === "" && query.loginName === "";
  const total = isWhole ? selection.selected : await countMatches(db, query, selection);
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { users: [], total };
  // The second half of a list is read from its end: no page is further away than half of the rows.
  const fromEnd = total - window.offset - limit;
  const backwards = fromEnd < window.offset;
  const page = toPageStatement(
    { ...query, descending: query.descending !== backwards },
    selection,
    { limit, offset: backwards ? fromEnd : window.offset },
  );
  const rows = await db.all<UserRow>(page.sql, ...page.values);
  return { users: (backwards ? rows.reverse() : rows).map(toUser), total };
}

/** The statement that `listUsers` reads a page with; for tests of its plan. */
export function toPageStatement(
  query: UserListQuery,
  selection: FacetSelection,
  window: { readonly limit: number; readonly offset: number },
): Statement {
  const ids = toIdsStatement(query, selection);
  const order = toOrder(query, "u.");
  return {
    sql:
      `SELECT ${toUserColumns("u.")} FROM (${ids.sql} ORDER BY ${toOrder(query, "")} LIMIT ? OFFSET ?) page ` +
      `JOIN forge_users u ON u.id = page.id ORDER BY ${order}`,
    values: [...ids.values, window.limit, window.offset],
  };
}

/** Below this part of all accounts, ranges per facet beat reading the whole order and dropping rows. */
const SMALL_PART = 1 / 4;
/** More ranges than this are not merged. */
const RANGES_MAX = 64;

function toIdsStatement(query: UserListQuery, selection: FacetSelection): Statement {
  const columns = `id, ${sortColumns[query.sort]}`;
  const kind = query.kind === "individual" ? 0 : 1;
  if (query.term !== "" || query.loginName !== "") {
    const where = toMatchStatement(query, selection);
    return { sql: `SELECT ${columns} FROM forge_users ${where.sql}`, values: where.values };
  }
  if (selection.selected === selection.ofKind)
    return { sql: `SELECT ${columns} FROM forge_users WHERE kind = ?`, values: [kind] };
  const facets = padded(selection.facets);
  if (selection.selected > selection.ofKind * SMALL_PART || facets.length > RANGES_MAX)
    return {
      sql: `SELECT ${columns} FROM forge_users WHERE kind = ? AND +facet IN (${marks(facets)})`,
      values: [kind, ...facets],
    };
  const range = `SELECT ${columns} FROM forge_users WHERE facet = ?`;
  return { sql: facets.map(() => range).join(" UNION ALL "), values: facets };
}

function toMatchStatement(query: UserListQuery, selection: FacetSelection): Statement {
  const facets = padded(selection.facets);
  const conditions = [`facet IN (${marks(facets)})`];
  const values: SqlValue[] = [...facets];
  if (query.loginName !== "") {
    conditions.push("login_name = ?", "login_name <> ''");
    values.push(query.loginName);
  }
  if (query.term !== "") {
    const pattern = `%${query.term.toLowerCase()}%`;
    conditions.push(
      "id IN (SELECT user_id FROM forge_user_search WHERE names LIKE ? OR email LIKE ?)",
    );
    values.push(pattern, pattern);
  }
  return { sql: `WHERE ${conditions.join(" AND ")}`, values };
}

async function countMatches(
  db: Queries,
  query: UserListQuery,
  selection: FacetSelection,
): Promise<number> {
  const where = toMatchStatement(query, selection);
  const row = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_users ${where.sql}`,
    ...where.values,
  );
  return row?.total ?? 0;
}

const sortColumns: Readonly<Record<UserSort, string>> = {
  name: "name",
  created: "created_at",
  updated: "updated_at",
  // The id is always among the columns; this second name keeps the list of columns regular.
  id: "id AS sort_id",
};

function toOrder(query: UserListQuery, prefix: string): string {
  const direction = query.descending ? "DESC" : "ASC";
  const id = `${prefix}id ${direction}`;
  if (query.sort === "id") return id;
  const column = `${prefix}${sortColumns[query.sort]} ${direction}`;
  return query.sort === "name" ? column : `${column}, ${id}`;
}

/** Facets made up to a power of two with one that no account has, so that few distinct statements exist. */
function padded(facets: readonly number[]): number[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(facets.length, 1)));
  return [...facets, ...Array<number>(size - facets.length).fill(-1)];
}

const marks = (values: readonly unknown[]): string => values.map(() => "?").join(", ");
