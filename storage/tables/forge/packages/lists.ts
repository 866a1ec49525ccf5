import type { Database, Queries, SqlValue } from "../../../engine/database.ts";
import { type ListMarks, type Mark, MARK_DISTANCE } from "../list-marks.ts";
import { type ForgePackage, type PackageRow, toPackage } from "./packages.ts";
import { countVersions, getPackagesGeneration, toNameCondition, toNamePattern } from "./totals.ts";

/** One entry of the list of all packages: a version with its package. */
export interface ListedVersion {
  readonly package: ForgePackage;
  readonly id: number;
  readonly version: string;
  /** Undefined once the account is gone. */
  readonly creatorId: number | undefined;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface VersionFilter {
  /** Exact type; empty: every type. */
  readonly type: string;
  /** Found in the package's name whatever the case, without wildcards; empty: every name. */
  readonly term: string;
  /** Packages of public owners only. */
  readonly isPublicOnly?: boolean;
}

/**
 * A page of all versions of all packages, newest first, and the count of all matches, at a cost that does not grow with
 * the versions: totals are kept, far pages are reached from `marks`. A search term costs what it finds.
 */
export async function listAllVersions(
  db: Database,
  filter: VersionFilter,
  window: { readonly limit: number; readonly offset: number },
  marks: ListMarks,
): Promise<{ readonly versions: readonly ListedVersion[]; readonly total: number }> {
  // No name has a NUL, and no database takes one.
  if (filter.term.includes("\0")) return { versions: [], total: 0 };
  const generation = await getPackagesGeneration(db);
  const total =
    filter.term === "" && !filter.isPublicOnly
      ? await countVersions(db, filter.type)
      : await countFound(db, filter);
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { versions: [], total };
  // The second half of the list is read from its end.
  const fromEnd = total - window.offset - limit;
  const descending = fromEnd >= window.offset;
  const offset = descending ? window.offset : fromEnd;
  const order = { ...filter, descending };
  const found =
    filter.term === "" && !filter.isPublicOnly
      ? await findMark(db, order, offset, generation, marks)
      : undefined;
  const page = toVersionsStatement(
    db.dialect,
    order,
    { limit, offset: offset - (found?.place ?? 0) },
    found?.mark,
  );
  const rows = await db.all<PackageRow & VersionColumns>(page.sql, ...page.values);
  return { versions: rows.map(toListed).toSorted(newestFirst), total };
}

export interface VersionOrder extends VersionFilter {
  readonly descending: boolean;
}

/** The statement that `listAllVersions` reads a page with, counted from the mark if there is one; also for tests of its plan. */
export function toVersionsStatement(
  dialect: Database["dialect"],
  order: VersionOrder,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  from?: Mark,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const ids = toIds(dialect, order, from);
  return {
    // The page's ids come from an index alone; only its rows are looked up.
    sql: `SELECT p.id, p.owner_id, p.type, p.name, p.repository_id, p.revision, p.created_at, p.updated_at,
            v.id AS version_id, v.version, v.creator_id, v.created_at AS version_created_at
     FROM (${ids.sql} LIMIT ? OFFSET ?) page
     JOIN forge_package_versions v ON v.id = page.id
     JOIN forge_packages p ON p.id = v.package_id`,
    values: [...ids.values, limit, offset],
  };
}

function toIds(
  dialect: Database["dialect"],
  { type, term, isPublicOnly, descending }: VersionOrder,
  from: Mark | undefined,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (term !== "") {
    const names = toNameCondition(dialect, term);
    conditions.push(`package_id IN (${names.sql})`);
    values.push(...names.values);
  }
  if (isPublicOnly) conditions.push(PUBLIC_CONDITION);
  if (type !== "") {
    // With a term, the names are the way in.
    conditions.push(term === "" ? "type = ?" : "type || '' = ?");
    values.push(type);
  }
  if (from !== undefined) {
    conditions.push(`(created_at, id) ${descending ? "<=" : ">="} (?, ?)`);
    values.push(from.value, from.id);
  }
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  const direction = descending ? "DESC" : "ASC";
  const column = term === "" ? "created_at" : "+created_at";
  return {
    sql: `SELECT id, created_at FROM forge_package_versions${where} ORDER BY ${column} ${direction}, id ${direction}`,
    values,
  };
}

function findMark(
  db: Database,
  order: VersionOrder,
  offset: number,
  generation: number,
  marks: ListMarks,
): ReturnType<ListMarks["find"]> {
  const key = JSON.stringify([order.type, order.descending]);
  return marks.find(key, generation, offset, async (after) => {
    const ids = toIds(db.dialect, order, after);
    const row = await db.get<{ id: number; created_at: number }>(
      `${ids.sql} LIMIT 1 OFFSET ?`,
      ...ids.values,
      MARK_DISTANCE,
    );
    return row && { id: row.id, value: row.created_at };
  });
}

const PUBLIC_CONDITION =
  "package_id IN (SELECT p.id FROM forge_packages p JOIN forge_users u ON u.id = p.owner_id WHERE u.visibility = 0)";

async function countFound(
  db: Database,
  { type, term, isPublicOnly }: VersionFilter,
): Promise<number> {
  const conditions = isPublicOnly ? [PUBLIC_CONDITION] : [];
  const values: SqlValue[] = [];
  if (term !== "") {
    const names = toNameCondition(db.dialect, term);
    conditions.push(`package_id IN (${names.sql})`);
    values.push(...names.values);
  }
  if (type !== "") {
    conditions.push("type || '' = ?");
    values.push(type);
  }
  const row = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_package_versions WHERE ${conditions.join(" AND ")}`,
    ...values,
  );
  return row?.total ?? 0;
}

function newestFirst(one: ListedVersion, other: ListedVersion): number {
  return other.createdAt - one.createdAt || other.id - one.id;
}

/** A page of an owner's packages of a type whose name has the term in it, by name, and the count of all matches. */
export async function searchPackages(
  db: Queries,
  { ownerId, type, term }: VersionFilter & { readonly ownerId: number },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly packages: readonly ForgePackage[]; readonly total: number }> {
  if (term.includes("\0")) return { packages: [], total: 0 };
  const condition = String.raw`owner_id = ? AND type = ? AND lower_name LIKE ? ESCAPE '\'`;
  const values = [ownerId, type, toNamePattern(term)];
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_packages WHERE ${condition}`,
    ...values,
  );
  const rows = await db.all<PackageRow>(
    `SELECT id, owner_id, type, name, repository_id, revision, created_at, updated_at FROM forge_packages
     WHERE ${condition} ORDER BY lower_name LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { packages: rows.map(toPackage), total: counted?.total ?? 0 };
}

interface VersionColumns {
  version_id: number;
  version: string;
  creator_id: number | null;
  version_created_at: number;
}

function toListed(row: PackageRow & VersionColumns): ListedVersion {
  return {
    package: toPackage(row),
    id: row.version_id,
    version: row.version,
    creatorId: row.creator_id ?? undefined,
    createdAt: row.version_created_at,
  };
}
