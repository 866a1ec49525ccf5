import { setImmediate } from "node:timers/promises";
import type { Queries, Transaction } from "../../../../storage/engine/database.ts";
import { setManifest } from "../../../../storage/tables/forge/packages/manifests.ts";
import {
  type ForgePackage,
  type ListedPackageVersion,
  listVersions,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { deleteTag, listTags, setTag } from "../../../../storage/tables/forge/packages/tags.ts";
import { AppError } from "../../../errors.ts";
import { TAGS_MAX } from "./compact-document.ts";
import { listDocumentTags, type NpmDocument, toStored } from "./manifest.ts";
import { findHighest, readMetadata } from "./packument.ts";

/** A changed deprecation. */
export type Deprecation = ReturnType<typeof toStored> & { readonly id: ListedPackageVersion["id"] };

/**
 * Returns the deprecations of a document that differ. Versions that it omits stay unchanged. Parses the manifests one after
 * the other outside of the transaction, with room for other requests between them: the caller checks in it that the
 * package has not changed.
 */
export async function findDeprecations(
  db: Queries,
  versions: readonly ListedPackageVersion[],
  document: NpmDocument,
): Promise<Deprecation[]> {
  const changes: Deprecation[] = [];
  for (const record of versions) {
    const manifestOfVersion = findMember(document.versions, record.version);
    if (manifestOfVersion === undefined) continue;
    await setImmediate();
    const metadata = await readMetadata(db, record.id);
    if (metadata === undefined) continue;
    const { deprecated: before, ...manifest } = metadata.manifest;
    const { deprecated } = manifestOfVersion;
    // npm removes a deprecation with an empty text.
    const isDeprecated =
      deprecated === true || (typeof deprecated === "string" && deprecated !== "");
    const after = isDeprecated ? deprecated : undefined;
    if (after === before) continue;
    if (typeof after === "string" && after.length > DEPRECATION_CHARACTERS_MAX)
      throw new AppError("invalid_argument", "the deprecation is too long");
    const changed = after === undefined ? manifest : { ...manifest, deprecated: after };
    changes.push({ id: record.id, ...toStored({ ...metadata, manifest: changed }) });
  }
  return changes;
}

/** Stores changed deprecations. */
export async function applyDeprecations(
  tx: Transaction,
  changes: readonly Deprecation[],
): Promise<void> {
  for (const { id, metadata, forms } of changes) await setManifest(tx, id, forms, metadata);
}

/** Sets a tag. Refuses with `invalid_argument` more than `TAGS_MAX`. */
export async function addTag(
  tx: Transaction,
  { id }: ForgePackage,
  tag: string,
  version: Pick<ListedPackageVersion, "id">,
): Promise<void> {
  const tags = await listTags(tx, id);
  if (!tags.has(tag) && tags.size >= TAGS_MAX)
    throw new AppError("invalid_argument", `a package has at most ${TAGS_MAX} tags`);
  await setTag(tx, id, tag, version.id);
}

/** Replaces the tags with those of a document, except tags of missing versions. */
export async function applyTags(
  tx: Transaction,
  { id }: ForgePackage,
  document: NpmDocument,
): Promise<void> {
  const newTags = new Map(listDocumentTags(document));
  const versions = await listVersions(tx, id);
  for (const [tag, version] of await listTags(tx, id))
    if (newTags.get(tag) !== version) await deleteTag(tx, id, tag);
  for (const [tag, version] of newTags) {
    const record = versions.find((each) => each.version === version);
    if (record !== undefined) await setTag(tx, id, tag, record.id);
  }
}

/**
 * Sets a missing `latest` to the highest version, as npm does when it unpublishes, because npm needs it to install by name
 * alone. A prerelease is it only without a release.
 */
export async function ensureLatest(tx: Transaction, { id }: ForgePackage): Promise<void> {
  if ((await listTags(tx, id)).has("latest")) return;
  const highest = findHighest(await listVersions(tx, id), ({ version }) => version);
  if (highest !== undefined) await setTag(tx, id, "latest", highest.id);
}

const DEPRECATION_CHARACTERS_MAX = 10_000;

/** Returns an own member of a parsed record, never an inherited one. */
export function findMember<T>(
  record: Readonly<Record<string, T>> | null | undefined,
  name: string,
): T | undefined {
  return record != null && Object.hasOwn(record, name) ? record[name] : undefined;
}
