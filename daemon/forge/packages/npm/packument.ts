import type { Queries } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import {
  type ForgePackage,
  type ForgePackageFile,
  type ForgePackageVersion,
  listFilesOfPackage,
  listVersions,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { listTags } from "../../../../storage/tables/forge/packages/tags.ts";
import { type NpmMetadata, npmMetadataSchema } from "./manifest.ts";
import type { PackageVersionId } from "../../../../storage/tables/forge/ids.ts";

/** A package with its versions and tags. */
export interface NpmPackage {
  readonly package: ForgePackage;
  readonly ownerName: string;
  /** Oldest first. */
  readonly versions: readonly NpmVersion[];
  readonly tags: ReadonlyMap<string, string>;
}

/** A version with its tarball. */
export interface NpmVersion {
  readonly record: ForgePackageVersion;
  readonly metadata: NpmMetadata;
  readonly tarball: ForgePackageFile;
}

/** Loads a package with its versions and tags. */
export async function readNpmPackage(
  db: Queries,
  found: ForgePackage,
  ownerName: string,
): Promise<NpmPackage> {
  const files = new Map<PackageVersionId, ForgePackageFile>();
  for (const file of await listFilesOfPackage(db, found.id)) files.set(file.versionId, file);
  const versions: NpmVersion[] = [];
  for (const record of await listVersions(db, found.id)) {
    const tarball = files.get(record.id);
    // A version may have been added or deleted between the two queries.
    if (tarball !== undefined) versions.push({ record, metadata: toMetadata(record), tarball });
  }
  return { package: found, ownerName, versions, tags: await listTags(db, found.id) };
}

/** Returns the stored metadata of a version. @throws StorageError `corrupt` */
export function toMetadata({ metadata }: Pick<ForgePackageVersion, "metadata">): NpmMetadata {
  return parseColumn(npmMetadataSchema, metadata, "forge_package_versions.metadata");
}

/** Returns the revision of a package for npm (`_rev`); it changes with every change of the package. */
export function toRevision({ revision, id }: ForgePackage): string {
  return `${revision}-${id}`;
}

/** Returns the version with the tag `latest`, else the newest. */
export function findLatest({ tags, versions }: NpmPackage): NpmVersion | undefined {
  const latest = tags.get("latest");
  return versions.find(({ record }) => record.version === latest) ?? versions.at(-1);
}
