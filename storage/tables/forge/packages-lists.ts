import type { Queries, SqlValue } from "../../engine/database.ts";
import { type ForgePackage, type PackageRow, toPackage } from "./packages.ts";

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
}

/** A page of all versions of all packages, newest first, and the count of all matches. */
export async function listAllVersions(
  db: Queries,
  filter: VersionFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly versions: readonly ListedVersion[]; readonly total: number }> {
  const { sql, values } = toCondition(filter);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_package_versions WHERE ${sql}`,
    ...values,
  );
  // The page's ids come from an index alone; only its rows are looked up.
  const rows = await db.all<PackageRow & VersionColumns>(
    `SELECT p.id, p.owner_id, p.type, p.name, p.revision, p.created_at, p.updated_at,
            v.id AS version_id, v.version, v.creator_id, v.created_at AS version_created_at
     FROM (SELECT id FROM forge_package_versions WHERE ${sql} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
     JOIN forge_package_versions v ON v.id = page.id
     JOIN forge_packages p ON p.id = v.package_id
     ORDER BY v.created_at DESC, v.id DESC`,
    ...values,
    window.limit,
    window.offset,
  );
  return { versions: rows.map(toListed), total: counted?.total ?? 0 };
}

/** A page of an owner's packages of a type whose name has the term in it, by name, and the count of all matches. */
export async function searchPackages(
  db: Queries,
  { ownerId, type, term }: VersionFilter & { readonly ownerId: number },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly packages: readonly ForgePackage[]; readonly total: number }> {
  const condition = String.raw`owner_id = ? AND type = ? AND lower_name LIKE ? ESCAPE '\'`;
  const values = [ownerId, type, toPattern(term)];
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_packages WHERE ${condition}`,
    ...values,
  );
  const rows = await db.all<PackageRow>(
    `SELECT id, owner_id, type, name, revision, created_at, updated_at FROM forge_packages
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

function toCondition({ type, term }: VersionFilter): { sql: string; values: SqlValue[] } {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  if (type !== "") {
    conditions.push("type = ?");
    values.push(type);
  }
  if (term !== "") {
    conditions.push(
      String.raw`package_id IN (SELECT p.id FROM forge_packages p WHERE p.lower_name LIKE ? ESCAPE '\')`,
    );
    values.push(toPattern(term));
  }
  return { sql: conditions.length === 0 ? "1 = 1" : conditions.join(" AND "), values };
}

/** A term as it stands, anywhere in a text. */
function toPattern(term: string): string {
  return `%${term.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`;
}
