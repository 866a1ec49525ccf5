import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";
import type { PackageId, PackageVersionId } from "../ids.ts";
import { findListedVersion, type ListedPackageVersion } from "./packages.ts";

const tags = defineTable("forge_package_tags", {
  packageId: id<PackageId>(),
  name: text(),
  versionId: id<PackageVersionId>(),
});

/** Returns the tags of a package: tag to version. */
export async function listTags(db: Queries, packageId: PackageId): Promise<Map<string, string>> {
  const rows = await db.all<{ name: string; version: string }>(
    `SELECT t.name, v.version FROM forge_package_tags t JOIN forge_package_versions v ON v.id = t.version_id
     WHERE t.package_id = ? ORDER BY t.name`,
    packageId,
  );
  return new Map(rows.map(({ name, version }) => [name, version]));
}

/** Returns the version that a tag names. */
export async function findTaggedVersion(
  db: Queries,
  packageId: PackageId,
  tag: string,
): Promise<ListedPackageVersion | undefined> {
  const row = await db.get<{ version: string }>(
    `SELECT v.version FROM forge_package_tags t JOIN forge_package_versions v ON v.id = t.version_id
     WHERE t.package_id = ? AND t.name = ?`,
    packageId,
    tag,
  );
  return row && findListedVersion(db, packageId, row.version);
}

/** Sets a tag to a version and replaces its former version. */
export async function setTag(
  tx: Transaction,
  packageId: PackageId,
  name: string,
  versionId: PackageVersionId,
): Promise<void> {
  await tags.upsert(
    tx,
    { packageId, name, versionId },
    "ON CONFLICT (package_id, name) DO UPDATE SET version_id = excluded.version_id",
  );
}

/** Deletes a tag and returns whether it existed. */
export async function deleteTag(
  tx: Transaction,
  packageId: PackageId,
  name: string,
): Promise<boolean> {
  return (await tags.delete(tx, { packageId, name })) > 0;
}
