import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, PackageId, PackageVersionId, PackageFileId, RepositoryId } from "../ids.ts";
import { indexPackageName, unindexPackageName } from "./name-index.ts";

/** A package of the forge: a name of one type at one owner. Times are epoch milliseconds. */
export interface ForgePackage {
  readonly id: PackageId;
  readonly ownerId: UserId;
  /** Such as `generic` or `npm`. */
  readonly type: string;
  /** As first published; unique among the owner's of this type when case is ignored. */
  readonly name: string;
  /** The repository that it is linked to. */
  readonly repositoryId: RepositoryId | undefined;
  /** Grows with every change of the package, its versions, files or tags. */
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One version of a package. */
export interface ForgePackageVersion {
  readonly id: PackageVersionId;
  readonly packageId: PackageId;
  /** Undefined once the account is deleted. */
  readonly creatorId: UserId | undefined;
  /** As published; unique in its package when case is ignored. */
  readonly version: string;
  /** JSON with the type's own metadata of a version. */
  readonly metadata: string;
  readonly createdAt: number;
}

/** A version without its metadata, which may be large. */
export type ListedPackageVersion = Omit<ForgePackageVersion, "metadata">;

/** One file of a version. Digests are lower-case hex; the SHA-256 names the object with the bytes. */
export interface ForgePackageFile {
  readonly id: PackageFileId;
  readonly versionId: PackageVersionId;
  /** As published; unique in its version when case is ignored. */
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly sha512: string;
  readonly sha1: string;
  readonly md5: string;
  readonly createdAt: number;
}

/** Returns the owner's package of a type and a name, ignoring case. */
export async function findPackage(
  db: Queries,
  { ownerId, type, name }: Pick<ForgePackage, "ownerId" | "type" | "name">,
): Promise<ForgePackage | undefined> {
  const row = await db.get<PackageRow>(
    `SELECT ${packageColumns} FROM forge_packages WHERE owner_id = ? AND type = ? AND lower_name = ?`,
    ownerId,
    type,
    name.toLowerCase(),
  );
  return row && toPackage(row);
}

/** Returns the package of a name, and creates it if it is missing. Increments its revision. */
export async function openPackage(
  tx: Transaction,
  key: Pick<ForgePackage, "ownerId" | "type" | "name">,
): Promise<ForgePackage> {
  const row = await tx.get<PackageRow>(
    `INSERT INTO forge_packages (id, owner_id, type, name, lower_name, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, 1, ?, ?)
     ON CONFLICT (owner_id, type, lower_name)
     DO UPDATE SET revision = forge_packages.revision + 1, updated_at = excluded.updated_at
     RETURNING ${packageColumns}`,
    await nextId(tx),
    key.ownerId,
    key.type,
    key.name,
    key.name.toLowerCase(),
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the package returned no row");
  // The first revision is that of a new package.
  if (row.revision === 1) await indexPackageName(tx, row.id, key.name);
  return toPackage(row);
}

/** Increments the revision of a package and returns it; undefined when it does not exist. */
export async function touchPackage(
  tx: Transaction,
  packageId: PackageId,
): Promise<ForgePackage | undefined> {
  const row = await tx.get<PackageRow>(
    `UPDATE forge_packages SET revision = revision + 1, updated_at = ? WHERE id = ? RETURNING ${packageColumns}`,
    tx.now,
    packageId,
  );
  return row && toPackage(row);
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
  await tx.run(
    "UPDATE forge_packages SET repository_id = ?, revision = revision + 1 WHERE id = ?",
    repositoryId ?? null,
    id,
  );
}

/** Returns whether an account owns a package. */
export async function ownsPackage(db: Queries, ownerId: UserId): Promise<boolean> {
  const row = await db.get(
    "SELECT 1 AS found FROM forge_packages WHERE owner_id = ? LIMIT 1",
    ownerId,
  );
  return row !== undefined;
}

/** Removes the links of packages to a repository. */
export async function unlinkPackagesOf(tx: Transaction, repositoryId: RepositoryId): Promise<void> {
  await tx.run(
    "UPDATE forge_packages SET repository_id = NULL, revision = revision + 1 WHERE repository_id = ?",
    repositoryId,
  );
}

/** Adds a version; undefined when the package has it already. */
export async function insertVersion(
  tx: Transaction,
  { id: packageId, type }: Pick<ForgePackage, "id" | "type">,
  version: { readonly version: string; readonly creatorId: UserId; readonly metadata: string },
): Promise<ForgePackageVersion | undefined> {
  const row = await tx.get<VersionRow>(
    `INSERT INTO forge_package_versions (id, package_id, type, creator_id, version, lower_version, metadata, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (package_id, lower_version) DO NOTHING RETURNING ${versionColumns}`,
    await nextId(tx),
    packageId,
    type,
    version.creatorId,
    version.version,
    version.version.toLowerCase(),
    version.metadata,
    tx.now,
  );
  return row && toVersion(row);
}

/** Returns a version of a package, ignoring case. */
export async function findVersion(
  db: Queries,
  packageId: PackageId,
  version: string,
): Promise<ForgePackageVersion | undefined> {
  const row = await db.get<VersionRow>(
    `SELECT ${versionColumns} FROM forge_package_versions WHERE package_id = ? AND lower_version = ?`,
    packageId,
    version.toLowerCase(),
  );
  return row && toVersion(row);
}

/** Returns a version of a package without its metadata, ignoring case. */
export async function findListedVersion(
  db: Queries,
  packageId: PackageId,
  version: string,
): Promise<ListedPackageVersion | undefined> {
  const row = await db.get<ListedVersionRow>(
    `SELECT ${listedVersionColumns} FROM forge_package_versions WHERE package_id = ? AND lower_version = ?`,
    packageId,
    version.toLowerCase(),
  );
  return row && toListedVersion(row);
}

/** Returns all versions of a package, oldest first. */
export async function listVersions(
  db: Queries,
  packageId: PackageId,
): Promise<ListedPackageVersion[]> {
  const rows = await db.all<ListedVersionRow>(
    `SELECT ${listedVersionColumns} FROM forge_package_versions WHERE package_id = ? ORDER BY id`,
    packageId,
  );
  return rows.map(toListedVersion);
}

/** Deletes a version with its files and tags, and the package with its last version. */
export async function deleteVersion(
  tx: Transaction,
  { id, packageId }: Pick<ForgePackageVersion, "id" | "packageId">,
): Promise<void> {
  await tx.run("DELETE FROM forge_package_versions WHERE id = ?", id);
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
  const row = await tx.get<FileRow>(
    `INSERT INTO forge_package_files (version_id, name, lower_name, size, sha256, sha512, sha1, md5, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (version_id, lower_name) DO NOTHING RETURNING ${fileColumns}`,
    file.versionId,
    file.name,
    file.name.toLowerCase(),
    file.size,
    file.sha256,
    file.sha512,
    file.sha1,
    file.md5,
    tx.now,
  );
  return row && toFile(row);
}

/** Returns the file of a version by name, ignoring case. */
export async function findFile(
  db: Queries,
  versionId: PackageVersionId,
  name: string,
): Promise<ForgePackageFile | undefined> {
  const row = await db.get<FileRow>(
    `SELECT ${fileColumns} FROM forge_package_files WHERE version_id = ? AND lower_name = ?`,
    versionId,
    name.toLowerCase(),
  );
  return row && toFile(row);
}

/** Returns the files of a version, in the order of their upload. */
export async function listFiles(
  db: Queries,
  versionId: PackageVersionId,
): Promise<ForgePackageFile[]> {
  const rows = await db.all<FileRow>(
    `SELECT ${fileColumns} FROM forge_package_files WHERE version_id = ? ORDER BY id`,
    versionId,
  );
  return rows.map(toFile);
}

/** Returns the files of all versions of a package, in the order of their upload. */
export async function listFilesOfPackage(
  db: Queries,
  packageId: PackageId,
): Promise<ForgePackageFile[]> {
  const rows = await db.all<FileRow>(
    `SELECT ${fileColumns} FROM forge_package_files
     WHERE version_id IN (SELECT v.id FROM forge_package_versions v WHERE v.package_id = ?) ORDER BY id`,
    packageId,
  );
  return rows.map(toFile);
}

/** Removes a file. */
export async function deleteFile(tx: Transaction, id: PackageFileId): Promise<void> {
  await tx.run("DELETE FROM forge_package_files WHERE id = ?", id);
}

async function nextId(tx: Transaction): Promise<number> {
  const state = await tx.get<{ id: number }>(
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

/** A row of the packages table, for other files of this folder. */
export interface PackageRow {
  id: PackageId;
  owner_id: UserId;
  type: string;
  name: string;
  repository_id: RepositoryId | null;
  revision: number;
  created_at: number;
  updated_at: number;
}

interface ListedVersionRow {
  id: PackageVersionId;
  package_id: PackageId;
  creator_id: UserId | null;
  version: string;
  created_at: number;
}

interface VersionRow extends ListedVersionRow {
  metadata: string;
}

interface FileRow {
  id: PackageFileId;
  version_id: PackageVersionId;
  name: string;
  size: number;
  sha256: string;
  sha512: string;
  sha1: string;
  md5: string;
  created_at: number;
}

const packageColumns = "id, owner_id, type, name, repository_id, revision, created_at, updated_at";
const listedVersionColumns = "id, package_id, creator_id, version, created_at";
const versionColumns = `${listedVersionColumns}, metadata`;
const fileColumns = "id, version_id, name, size, sha256, sha512, sha1, md5, created_at";

/** Converts a row. */
export function toPackage(row: PackageRow): ForgePackage {
  return {
    id: row.id,
    ownerId: row.owner_id,
    type: row.type,
    name: row.name,
    repositoryId: row.repository_id ?? undefined,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toVersion(row: VersionRow): ForgePackageVersion {
  return { ...toListedVersion(row), metadata: row.metadata };
}

function toListedVersion(row: ListedVersionRow): ListedPackageVersion {
  return {
    id: row.id,
    packageId: row.package_id,
    creatorId: row.creator_id ?? undefined,
    version: row.version,
    createdAt: row.created_at,
  };
}

function toFile(row: FileRow): ForgePackageFile {
  return {
    id: row.id,
    versionId: row.version_id,
    name: row.name,
    size: row.size,
    sha256: row.sha256,
    sha512: row.sha512,
    sha1: row.sha1,
    md5: row.md5,
    createdAt: row.created_at,
  };
}
