import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ForgePackage,
  type ForgePackageVersion,
  listVersions,
  updateVersionMetadata,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { deleteTag, listTags, setTag } from "../../../../storage/tables/forge/packages/tags.ts";
import { AppError } from "../../../errors.ts";
import { listDocumentTags, type NpmDocument } from "./manifest.ts";
import { toMetadata } from "./packument.ts";

/** Sets the deprecations of a document. Versions that it omits stay unchanged. */
export async function applyDeprecations(
  tx: Transaction,
  versions: readonly ForgePackageVersion[],
  document: NpmDocument,
): Promise<void> {
  for (const record of versions) {
    const manifestOfVersion = findMember(document.versions, record.version);
    if (manifestOfVersion === undefined) continue;
    const metadata = toMetadata(record);
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
    await updateVersionMetadata(tx, record.id, JSON.stringify({ ...metadata, manifest: changed }));
  }
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

/** Sets a missing `latest` to the newest version, because npm needs it to install by name alone. */
export async function ensureLatest(tx: Transaction, { id }: ForgePackage): Promise<void> {
  if ((await listTags(tx, id)).has("latest")) return;
  const versions = await listVersions(tx, id);
  const newest = versions.findLast(({ version }) => !version.includes("-")) ?? versions.at(-1);
  if (newest !== undefined) await setTag(tx, id, "latest", newest.id);
}

const DEPRECATION_CHARACTERS_MAX = 10_000;

/** Returns an own member of a parsed record, never an inherited one. */
export function findMember<T>(
  record: Readonly<Record<string, T>> | null | undefined,
  name: string,
): T | undefined {
  return record != null && Object.hasOwn(record, name) ? record[name] : undefined;
}
