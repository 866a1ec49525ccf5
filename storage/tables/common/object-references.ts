import type { Queries } from "../../engine/database.ts";

/** A column that names objects, and the column or SQL expression of their size. */
interface ObjectColumn {
  readonly table: string;
  readonly hash: string;
  /** NULL where the row does not know the size. */
  readonly size: string;
  /** Restricts the rows. */
  readonly where: string;
}

/** Every column of the database that names an object of the object store. A test compares it with the schema. */
export const objectColumns: readonly ObjectColumn[] = [
  { table: "forge_package_files", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_avatars", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_repository_avatars", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_large_files", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_attachments", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_container_blobs", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_container_upload_parts", hash: "sha256", size: "size", where: "1 = 1" },
  { table: "forge_release_assets", hash: "sha256", size: "size", where: "sha256 IS NOT NULL" },
  {
    table: "vault_documents",
    hash: "sha256",
    size: "size_bytes",
    where: "storage_backend = 'internal'",
  },
  { table: "vault_document_versions", hash: "sha256", size: "size_bytes", where: "1 = 1" },
  {
    table: "vault_document_thumbnails",
    hash: "sha256",
    size: "size_bytes",
    where: "sha256 IS NOT NULL",
  },
  {
    table: "vault_document_uploads",
    hash: "object_sha256",
    size: "NULL",
    where: "object_sha256 IS NOT NULL",
  },
  {
    table: "forge_action_artifacts",
    hash: "object_sha256",
    size: "size",
    where: "object_sha256 IS NOT NULL",
  },
  { table: "forge_action_artifact_blocks", hash: "object_sha256", size: "size", where: "1 = 1" },
];

/** An object that rows name. */
export interface ObjectReference {
  readonly sha256: string;
  /** In bytes; null when no row knows it. */
  readonly size: number | null;
}

/** Returns the objects that rows name, each once, in the order of their names, after one of them. */
export function listObjectReferences(
  db: Queries,
  after: string,
  limit: number,
): Promise<ObjectReference[]> {
  const selects = objectColumns.map(
    ({ table, hash, size, where }) =>
      `SELECT ${hash} AS sha256, ${size} AS size FROM ${table} WHERE ${where} AND ${hash} > ?`,
  );
  return db.all<ObjectReference>(
    `SELECT sha256, MAX(size) AS size FROM (${selects.join(" UNION ALL ")}) AS named
     GROUP BY sha256 ORDER BY sha256 LIMIT ?`,
    ...objectColumns.map(() => after),
    limit,
  );
}

/** Returns how many rows name the object. */
export async function countObjectReferences(db: Queries, sha256: string): Promise<number> {
  const selects = objectColumns.map(
    ({ table, hash, where }) => `SELECT 1 AS found FROM ${table} WHERE ${where} AND ${hash} = ?`,
  );
  const row = await db.get<{ count: number }>(
    `SELECT COUNT(*) AS count FROM (${selects.join(" UNION ALL ")}) AS named`,
    ...objectColumns.map(() => sha256),
  );
  return Number(row?.count ?? 0);
}

/** Returns whether a row names the object. */
export async function isObjectReferenced(db: Queries, sha256: string): Promise<boolean> {
  const selects = objectColumns.map(
    ({ table, hash, where }) => `SELECT 1 AS found FROM ${table} WHERE ${where} AND ${hash} = ?`,
  );
  const row = await db.get(
    `SELECT found FROM (${selects.join(" UNION ALL ")}) AS named LIMIT 1`,
    ...objectColumns.map(() => sha256),
  );
  return row !== undefined;
}
