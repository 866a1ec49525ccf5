import type { Queries } from "../../../../storage/engine/database.ts";
import {
  type ForgePackage,
  type ForgePackageFile,
  type ForgePackageVersion,
  listFilesOfPackage,
  listVersions,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { listTags } from "../../../../storage/tables/forge/packages/tags.ts";
import type { NpmMetadata } from "./manifest.ts";

/** A package with everything that npm reads of it. */
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

/** Reads a package as a whole. */
export async function readNpmPackage(
  db: Queries,
  found: ForgePackage,
  ownerName: string,
): Promise<NpmPackage> {
  const files = new Map<number, ForgePackageFile>();
  for (const file of await listFilesOfPackage(db, found.id)) files.set(file.versionId, file);
  const versions: NpmVersion[] = [];
  for (const record of await listVersions(db, found.id)) {
    const tarball = files.get(record.id);
    // Between two queries a version may have gone or come.
    if (tarball !== undefined) versions.push({ record, metadata: toMetadata(record), tarball });
  }
  return { package: found, ownerName, versions, tags: await listTags(db, found.id) };
}

/** What is kept about a version. */
export function toMetadata({ metadata }: Pick<ForgePackageVersion, "metadata">): NpmMetadata {
  return JSON.parse(metadata);
}

/** The word that changes with every change of a package. */
export function toRevision({ revision, id }: ForgePackage): string {
  return `${revision}-${id}`;
}

/** The version that is `latest`, else the newest. */
export function findLatest({ tags, versions }: NpmPackage): NpmVersion | undefined {
  const latest = tags.get("latest");
  return versions.find(({ record }) => record.version === latest) ?? versions.at(-1);
}
