import type { Database, Queries, SqlValue } from "../../../engine/database.ts";
import { toNameCondition, toNamePattern } from "./name-index.ts";
import { type ForgePackage, packages } from "./packages.ts";
import type { UserId, PackageId, PackageVersionId } from "../ids.ts";
import { sql } from "../../condition.ts";

/** One entry of the list of all packages: a version with its package. */
export interface ListedVersion {
  readonly package: ForgePackage;
  readonly id: PackageVersionId;
  readonly version: string;
  /** Undefined once the account is deleted. */
  readonly creatorId: UserId | undefined;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface VersionFilter {
  /** Exact type; empty: every type. */
  readonly type: string;
  /** A part of the package's name, ignoring case and without wildcards; empty: every name. */
  readonly term: string;
  /** Packages of public owners only. */
  readonly isPublicOnly?: boolean;
  /** Packages of this owner only. */
  readonly ownerId?: UserId;
  /** This package only. */
  readonly packageId?: PackageId;
}

/** Returns a page of all versions of all packages, newest first, and the count of all matches. */
export async function listAllVersions(
  db: Database,
  filter: VersionFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly versions: readonly ListedVersion[]; readonly total: number }> {
  // No name contains NUL, and PostgreSQL refuses one in a parameter.
  if (filter.term.includes("\0")) return { versions: [], total: 0 };
  const where = toCondition(db.dialect, filter);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_package_versions${where.sql}`,
    ...where.values,
  );
  const { sql, values } = toPageStatement(db.dialect, filter, window);
  const rows = await db.all<VersionColumns>(sql, ...values);
  return { versions: rows.map(toListed), total: counted?.total ?? 0 };
}

/** Returns the statement of a page; exported for the test of its query plan. */
export function toPageStatement(
  dialect: Database["dialect"],
  filter: VersionFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const where = toCondition(dialect, filter);
  return {
    // The ids come from a covering index, so a large offset skips index entries instead of joined rows.
    sql: `SELECT ${packages.as("p").columns},
            v.id AS version_id, v.version, v.creator_id, v.created_at AS version_created_at
     FROM (SELECT id, created_at FROM forge_package_versions${where.sql}
           ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
     JOIN forge_package_versions v ON v.id = page.id
     JOIN forge_packages p ON p.id = v.package_id
     ORDER BY page.created_at DESC, page.id DESC`,
    values: [...where.values, limit, offset],
  };
}

const PUBLIC_CONDITION =
  "package_id IN (SELECT p.id FROM forge_packages p JOIN forge_users u ON u.id = p.owner_id WHERE u.visibility = 0)";

function toCondition(
  dialect: Database["dialect"],
  { type, term, isPublicOnly, ownerId, packageId }: VersionFilter,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (term !== "") {
    const names = toNameCondition(dialect, term);
    conditions.push(`package_id IN (${names.sql})`);
    values.push(...names.values);
  }
  if (ownerId !== undefined) {
    conditions.push("package_id IN (SELECT id FROM forge_packages WHERE owner_id = ?)");
    values.push(ownerId);
  }
  if (packageId !== undefined) {
    conditions.push("package_id = ?");
    values.push(packageId);
  }
  if (isPublicOnly) conditions.push(PUBLIC_CONDITION);
  if (type !== "") {
    // With a term the expression keeps SQLite off the index of types: the names are more selective.
    conditions.push(term === "" ? "type = ?" : "type || '' = ?");
    values.push(type);
  }
  const sql = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return { sql, values };
}

/** Returns a page of an owner's packages of a type whose name contains the term, by name, and the count of all matches. */
export async function searchPackages(
  db: Queries,
  { ownerId, type, term }: Omit<VersionFilter, "ownerId"> & { readonly ownerId: UserId },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly packages: readonly ForgePackage[]; readonly total: number }> {
  if (term.includes("\0")) return { packages: [], total: 0 };
  const { records, total } = await packages.page(
    db,
    sql`owner_id = ${ownerId} AND type = ${type} AND lower_name LIKE ${toNamePattern(term)} ESCAPE '\\'`,
    { ...window, order: "lower_name" },
  );
  return { packages: records, total };
}

/** Returns the lower-case names of an owner's packages of a type after one of them, in the order of their bytes. */
export async function listPackageNames(
  db: Queries,
  { ownerId, type }: { readonly ownerId: UserId; readonly type: string },
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db.all<{ lower_name: string }>(
    `SELECT lower_name FROM forge_packages WHERE owner_id = ? AND type = ? AND lower_name > ?
     ORDER BY lower_name LIMIT ?`,
    ownerId,
    type,
    after,
    limit,
  );
  return rows.map((row) => row.lower_name);
}

interface VersionColumns {
  version_id: PackageVersionId;
  version: string;
  creator_id: UserId | null;
  version_created_at: number;
}

function toListed(row: VersionColumns): ListedVersion {
  return {
    package: packages.read(row),
    id: row.version_id,
    version: row.version,
    creatorId: row.creator_id ?? undefined,
    createdAt: row.version_created_at,
  };
}
