import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, PackageId, PackageVersionId, PackageFileId, RepositoryId } from "../ids.ts";
import { indexPackageName, unindexPackageName } from "./name-index.ts";
import { generated, id, integer, now, optional, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

export const packages = defineTable("forge_packages", {
  id: id<PackageId>(),
  ownerId: id<UserId>(),
  /** Such as `generic` or `npm`. */
  type: text(),
  /** As first published; unique among the owner's of this type when case is ignored. */
  name: text(),
  /** The repository that it is linked to. */
  repositoryId: optional(id<RepositoryId>()),
  /** Grows with every change of the package, its versions, files or tags. */
  revision: integer(),
  createdAt: now(),
  updatedAt: now(),
  lowerName: unread(text()),
});
/** A package of the forge: a name of one type at one owner. Times are epoch milliseconds. */
export type ForgePackage = RecordOf<typeof packages>;

export const versions = defineTable("forge_package_versions", {
  id: id<PackageVersionId>(),
  packageId: id<PackageId>(),
  /** The package's. */
  type: unread(text()),
  /** Undefined once the account is deleted. */
  creatorId: optional(id<UserId>()),
  /** As published; unique in its package when case is ignored, which the tags of containers do not. */
  version: text(),
  lowerVersion: unread(text()),
  /** JSON with the type's own metadata of a version, which may be large. */
  metadata: unread(text()),
  createdAt: now(),
  /** Characters of the manifest in the metadata. */
  manifestLength: unread(optional(integer())),
  /** Forms of the manifest, as JSON: the members that an installation needs, and those that a search shows. */
  abbreviated: unread(optional(text())),
  summary: unread(optional(text())),
});
/** A version of a package without its metadata. */
export type ListedPackageVersion = RecordOf<typeof versions>;

/** One version of a package. */
export type ForgePackageVersion = ListedPackageVersion & { readonly metadata: string };

const files = defineTable("forge_package_files", {
  id: generated(id<PackageFileId>()),
  versionId: id<PackageVersionId>(),
  /** As published; unique in its version when case is ignored. */
  name: text(),
  size: integer(),
  sha256: text(),
  sha512: text(),
  sha1: text(),
  md5: text(),
  createdAt: now(),
  lowerName: unread(text()),
});
/** One file of a version. Digests are lower-case hex; the SHA-256 names the object with the bytes. */
export type ForgePackageFile = RecordOf<typeof files>;

/** Returns how many bytes the files of an owner's packages have. */
export async function sumPackageBytes(db: Queries, ownerId: UserId): Promise<number> {
  const found = await db.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) AS bytes FROM forge_packages p
     JOIN forge_package_versions v ON v.package_id = p.id JOIN forge_package_files f ON f.version_id = v.id
     WHERE p.owner_id = ?`,
    ownerId,
  );
  return Number(found?.bytes ?? 0);
}

/** Returns the owner's package of a type and a name, ignoring case. */
export async function findPackage(
  db: Queries,
  { ownerId, type, name }: Pick<ForgePackage, "ownerId" | "type" | "name">,
): Promise<ForgePackage | undefined> {
  return packages.find(db, { ownerId, type, lowerName: name.toLowerCase() });
}

/** Returns the package of a name, and creates it if it is missing. Increments its revision. */
export async function openPackage(
  tx: Transaction,
  key: Pick<ForgePackage, "ownerId" | "type" | "name">,
): Promise<ForgePackage> {
  const row = await packages.upsert(
    tx,
    { ...key, id: await nextId(tx), lowerName: key.name.toLowerCase(), revision: 1 },
    "ON CONFLICT (owner_id, type, lower_name) DO UPDATE SET revision = forge_packages.revision + 1, updated_at = excluded.updated_at",
  );
  if (row === undefined) throw new Error("the statement for the package returned no row");
  // The first revision is that of a new package.
  if (row.revision === 1) await indexPackageName(tx, row.id, key.name);
  return row;
}

/** Increments the revision of a package and returns it; undefined when it does not exist. */
export async function touchPackage(
  tx: Transaction,
  packageId: PackageId,
): Promise<ForgePackage | undefined> {
  return packages.readOne(
    tx,
    `UPDATE forge_packages SET revision = revision + 1, updated_at = ? WHERE id = ? RETURNING ${packages.columns}`,
    tx.now,
    packageId,
  );
}

/** Removes a package with its versions, files and tags. */
async function deletePackage(tx: Transaction, id: PackageId): Promise<void> {
  const deleted = await tx.get<DeletedRow>(
    "DELETE FROM forge_packages WHERE id = ? RETURNING id, type, lower_name",
    id,
  );
  if (deleted === undefined) return;
  await unindexPackageName(tx, deleted.id, deleted.lower_name);
}

/** Removes every package of an owner. */
export async function deletePackagesOf(tx: Transaction, ownerId: UserId): Promise<void> {
  const rows = await tx.all<{ id: PackageId }>(
    "SELECT id FROM forge_packages WHERE owner_id = ?",
    ownerId,
  );
  for (const { id } of rows) await deletePackage(tx, id);
}

/** Links a package to a repository, or removes the link. */
export async function linkPackage(
  tx: Transaction,
  id: PackageId,
  repositoryId: RepositoryId | undefined,
): Promise<void> {
  await packages.update(tx, { id }, { repositoryId, revision: sql`revision + 1` });
}

/** Returns whether an account owns a package. */
export async function ownsPackage(db: Queries, ownerId: UserId): Promise<boolean> {
  return packages.exists(db, { ownerId });
}

/** Removes the links of packages to a repository. */
export async function unlinkPackagesOf(tx: Transaction, repositoryId: RepositoryId): Promise<void> {
  await packages.update(
    tx,
    { repositoryId },
    { repositoryId: undefined, revision: sql`revision + 1` },
  );
}

/** Adds a version; undefined when the package has it already. */
export async function insertVersion(
  tx: Transaction,
  { id: packageId, type }: Pick<ForgePackage, "id" | "type">,
  version: { readonly version: string; readonly creatorId: UserId; readonly metadata: string },
): Promise<ForgePackageVersion | undefined> {
  // The same counter numbers packages and versions.
  const id = (await nextId(tx)) as number as PackageVersionId;
  const added = await versions.upsert(
    tx,
    { ...version, id, packageId, type, lowerVersion: toVersionKey(type, version.version) },
    "ON CONFLICT (package_id, lower_version) DO NOTHING",
  );
  return added && { ...added, metadata: version.metadata };
}

/** Returns a version of a package, ignoring case unless it is a container. */
export async function findVersion(
  db: Queries,
  { id: packageId, type }: Pick<ForgePackage, "id" | "type">,
  version: string,
): Promise<ForgePackageVersion | undefined> {
  const row = await db.get<{ metadata: string }>(
    `SELECT ${versions.columns}, metadata FROM forge_package_versions WHERE package_id = ? AND lower_version = ?`,
    packageId,
    toVersionKey(type, version),
  );
  return row && { ...versions.read(row), metadata: row.metadata };
}

/** Returns what tells the versions of a package apart: the tags of containers by case too. */
export function toVersionKey(type: string, version: string): string {
  return type === "container" ? version : version.toLowerCase();
}

/** Returns a version of a package without its metadata, ignoring case. */
export const findListedVersion = (
  db: Queries,
  packageId: PackageId,
  version: string,
): Promise<ListedPackageVersion | undefined> =>
  versions.find(db, { packageId, lowerVersion: version.toLowerCase() });

/** Returns all versions of a package, oldest first. */
export const listVersions = (db: Queries, packageId: PackageId): Promise<ListedPackageVersion[]> =>
  versions.list(db, { packageId }, { order: "id" });

/** Deletes a version with its files and tags, and the package with its last version. */
export async function deleteVersion(
  tx: Transaction,
  { id, packageId }: Pick<ForgePackageVersion, "id" | "packageId">,
): Promise<void> {
  await versions.delete(tx, { id });
  const last = await tx.get<DeletedRow>(
    `DELETE FROM forge_packages WHERE id = ?
     AND NOT EXISTS (SELECT 1 FROM forge_package_versions v WHERE v.package_id = forge_packages.id)
     RETURNING id, type, lower_name`,
    packageId,
  );
  if (last !== undefined) await unindexPackageName(tx, last.id, last.lower_name);
}

/** Adds a file; undefined when the version has one of that name. */
export async function insertFile(
  tx: Transaction,
  file: Omit<ForgePackageFile, "id" | "createdAt">,
): Promise<ForgePackageFile | undefined> {
  return files.upsert(
    tx,
    { ...file, lowerName: file.name.toLowerCase() },
    "ON CONFLICT (version_id, lower_name) DO NOTHING",
  );
}

/** Returns the file of a version by name, ignoring case. */
export async function findFile(
  db: Queries,
  versionId: PackageVersionId,
  name: string,
): Promise<ForgePackageFile | undefined> {
  return files.find(db, { versionId, lowerName: name.toLowerCase() });
}

/** Returns the files of a version, in the order of their upload. */
export async function listFiles(
  db: Queries,
  versionId: PackageVersionId,
): Promise<ForgePackageFile[]> {
  return files.list(db, { versionId }, { order: "id" });
}

/** Returns the files of all versions of a package, in the order of their upload. */
export async function listFilesOfPackage(
  db: Queries,
  packageId: PackageId,
): Promise<ForgePackageFile[]> {
  return files.list(
    db,
    sql`version_id IN (SELECT v.id FROM forge_package_versions v WHERE v.package_id = ${packageId})`,
    { order: "id" },
  );
}

/** Returns the file of that name in any version of a package, ignoring case. */
export async function findFileOfPackage(
  db: Queries,
  packageId: PackageId,
  name: string,
): Promise<ForgePackageFile | undefined> {
  return files.find(
    db,
    sql`lower_name = ${name.toLowerCase()} AND version_id IN (SELECT v.id FROM forge_package_versions v WHERE v.package_id = ${packageId})`,
  );
}

/** Counts the files of all versions of a package. */
export async function countFilesOfPackage(db: Queries, packageId: PackageId): Promise<number> {
  return files.count(
    db,
    sql`version_id IN (SELECT v.id FROM forge_package_versions v WHERE v.package_id = ${packageId})`,
  );
}

/** Removes a file. */
export async function deleteFile(tx: Transaction, id: PackageFileId): Promise<void> {
  await files.delete(tx, { id });
}

async function nextId(tx: Transaction): Promise<PackageId> {
  const state = await tx.get<{ id: PackageId }>(
    "UPDATE forge_package_state SET last_id = last_id + 1 WHERE id = 1 RETURNING last_id AS id",
  );
  if (state === undefined) throw new Error("the row of forge_package_state is missing");
  return state.id;
}

/** The index terms of a deleted package. */
interface DeletedRow {
  id: PackageId;
  type: string;
  lower_name: string;
}
