import { setImmediate } from "node:timers/promises";
import type { Queries } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import type { PackageVersionId } from "../../../../storage/tables/forge/ids.ts";
import {
  listForms,
  listManifestLengths,
  listMetadata,
  type StoredManifest,
} from "../../../../storage/tables/forge/packages/manifests.ts";
import {
  type ForgePackage,
  type ForgePackageFile,
  type ListedPackageVersion,
  listFilesOfPackage,
  listVersions,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { listTags } from "../../../../storage/tables/forge/packages/tags.ts";
import { toAbbreviated, type NpmMetadata, npmMetadataSchema } from "./manifest.ts";
import { compareVersions } from "./names.ts";

/** A package with its versions and tags, without their manifests. */
export interface NpmPackage {
  readonly package: ForgePackage;
  readonly ownerName: string;
  /** Oldest first. */
  readonly versions: readonly NpmVersion[];
  readonly tags: ReadonlyMap<string, string>;
}

/** A version with its tarball. */
export interface NpmVersion {
  readonly record: ListedPackageVersion;
  readonly tarball: ForgePackageFile;
  /** Characters of its manifest. */
  readonly manifestLength: number;
}

/** The manifests of versions as JSON, read while they are sent: whole, or with the members that installing needs. */
export type ManifestTexts = AsyncIterable<readonly [version: NpmVersion, manifest: string]>;

/** Loads a package with its versions and tags. */
export async function readNpmPackage(
  db: Queries,
  found: ForgePackage,
  ownerName: string,
): Promise<NpmPackage> {
  const files = new Map<PackageVersionId, ForgePackageFile>();
  for (const file of await listFilesOfPackage(db, found.id)) files.set(file.versionId, file);
  const lengths = await listManifestLengths(db, found.id);
  const versions: NpmVersion[] = [];
  for (const record of await listVersions(db, found.id)) {
    const tarball = files.get(record.id);
    const manifestLength = lengths.get(record.id) ?? 0;
    // A version may have been added or deleted between the queries.
    if (tarball !== undefined) versions.push({ record, tarball, manifestLength });
  }
  return { package: found, ownerName, versions, tags: await listTags(db, found.id) };
}

/** Characters of manifests, and versions, that are read from the database at once. */
const BATCH_CHARACTERS = 512 * 1024;
const BATCH_VERSIONS = 200;

/** Reads manifests a batch at a time, as fast as they are consumed. Leaves out versions that are deleted meanwhile. */
export async function* readManifests(
  db: Queries,
  { versions }: NpmPackage,
  form: "whole" | "abbreviated",
): ManifestTexts {
  for (const batch of toBatches(versions)) {
    const ids = batch.map(({ record }) => record.id);
    const texts = form === "whole" ? await readWhole(db, ids) : await readAbbreviated(db, ids);
    for (const version of batch) {
      const text = texts.get(version.record.id);
      if (text !== undefined) yield [version, text];
    }
    // Other requests come between two batches, however fast the client is.
    await setImmediate();
  }
}

function* toBatches(versions: readonly NpmVersion[]): Generator<readonly NpmVersion[]> {
  let batch: NpmVersion[] = [];
  let characters = 0;
  for (const version of versions) {
    const isFull = characters + version.manifestLength > BATCH_CHARACTERS;
    if (batch.length > 0 && (isFull || batch.length >= BATCH_VERSIONS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(version);
    characters += version.manifestLength;
  }
  if (batch.length > 0) yield batch;
}

async function readWhole(db: Queries, ids: readonly PackageVersionId[]) {
  const stored = await listMetadata(db, ids);
  return new Map([...stored].map(([id, manifest]) => [id, toManifestText(manifest)]));
}

async function readAbbreviated(db: Queries, ids: readonly PackageVersionId[]) {
  const stored = await listForms(db, ids, "abbreviated");
  return new Map(
    [...stored].map(([id, form]) => [
      id,
      "text" in form ? form.text : JSON.stringify(toAbbreviated(toMetadata(form).manifest)),
    ]),
  );
}

/** The beginning of stored metadata, which the manifest follows. */
const METADATA_HEAD = '{"manifest":';

function toManifestText({ metadata, manifestLength }: StoredManifest): string {
  if (manifestLength === undefined) return JSON.stringify(toMetadata({ metadata }).manifest);
  return metadata.slice(METADATA_HEAD.length, METADATA_HEAD.length + manifestLength);
}

/** Returns the stored metadata of a version. @throws StorageError `corrupt` */
export function toMetadata({ metadata }: { readonly metadata: string }): NpmMetadata {
  return parseColumn(npmMetadataSchema, metadata, "forge_package_versions.metadata");
}

/** Returns the metadata of one version; undefined when it was deleted meanwhile. */
export async function readMetadata(
  db: Queries,
  id: PackageVersionId,
): Promise<NpmMetadata | undefined> {
  const stored = (await listMetadata(db, [id])).get(id);
  return stored && toMetadata(stored);
}

/** Returns the revision of a package for npm (`_rev`); it changes with every change of the package. */
export function toRevision({ revision, id }: ForgePackage): string {
  return `${revision}-${id}`;
}

/** Returns the version with the tag `latest`, else the highest. */
export function findLatest({ tags, versions }: NpmPackage): NpmVersion | undefined {
  const latest = tags.get("latest");
  return (
    versions.find(({ record }) => record.version === latest) ??
    findHighest(versions, ({ record }) => record.version)
  );
}

/** Returns the item of the highest version; of a prerelease only when all versions are. */
export function findHighest<T>(items: readonly T[], versionOf: (item: T) => string): T | undefined {
  const isPrerelease = (item: T) => /^[^+]*-/.test(versionOf(item));
  const releases = items.filter((item) => !isPrerelease(item));
  const candidates = releases.length > 0 ? releases : items;
  return candidates.reduce<T | undefined>(
    (highest, item) =>
      highest !== undefined && compareVersions(versionOf(highest), versionOf(item)) >= 0
        ? highest
        : item,
    undefined,
  );
}
