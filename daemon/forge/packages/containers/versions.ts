import type { Queries, Transaction } from "../../../../storage/engine/database.ts";
import {
  type ContainerManifest,
  deleteContainerManifest,
  findManifestOfVersion,
  listOrphanedManifests,
  listVersionsOfManifest,
  renewVersion,
  setVersionManifest,
} from "../../../../storage/tables/forge/packages/containers.ts";
import {
  findVersion,
  type ForgePackage,
  insertVersion,
} from "../../../../storage/tables/forge/packages/packages.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { Emit, OwnedVersion } from "../../events.ts";
import { removeVersion } from "../versions.ts";
import { isDigestVersion } from "./references.ts";

// The versions of an image are its tags, and the digest of each manifest that has no tag: so every manifest is in the list of
// versions, and is deleted only by someone who names it.

/** An image with the account that changes it. */
interface ChangedImage {
  readonly package: ForgePackage;
  readonly owner: ForgeUser;
  readonly actor: ForgeUser;
}

/** Gives a manifest a tag, which another manifest loses if it has it. Emits `package` unless the tag was there. */
export async function tagManifest(
  tx: Transaction,
  emit: Emit,
  image: ChangedImage,
  manifest: ContainerManifest,
  tag: string,
): Promise<void> {
  const known = await findVersion(tx, image.package, tag);
  const former = known && (await findManifestOfVersion(tx, known.id));
  if (former?.id === manifest.id) return;
  const version = known ?? (await insertOrFail(tx, image, tag));
  if (known !== undefined) await renewVersion(tx, known.id, image.actor.id);
  await setVersionManifest(tx, version.id, manifest.id);
  if (former !== undefined) await keepListed(tx, image, former);
  for (const each of await listVersionsOfManifest(tx, manifest.id))
    if (isDigestVersion(each.version)) await removeVersion(tx, silent, { ...image, version: each });
  const published = { ...version, creatorId: image.actor.id, createdAt: tx.now };
  await emit(tx, "package", { ...image, action: "created", version: published });
}

/** Lists a manifest without a tag under its digest. Emits `package` when it was not listed. */
export async function listByDigest(
  tx: Transaction,
  emit: Emit,
  image: ChangedImage,
  manifest: ContainerManifest,
): Promise<void> {
  const version = await keepListed(tx, image, manifest);
  if (version !== undefined) await emit(tx, "package", { ...image, action: "created", version });
}

/** Removes a tag. A manifest without another one stays, under its digest. */
export async function removeTag(
  tx: Transaction,
  emit: Emit,
  image: ChangedImage,
  tag: string,
): Promise<boolean> {
  const version = await findVersion(tx, image.package, tag);
  const manifest = version && (await findManifestOfVersion(tx, version.id));
  if (version === undefined || manifest === undefined) return false;
  // Listed first: the package goes with its last version.
  if ((await listVersionsOfManifest(tx, manifest.id)).length === 1)
    await listUnder(tx, image, manifest);
  await removeVersion(tx, emit, { ...image, version });
  return true;
}

/** Deletes a manifest with its tags. */
export async function removeManifest(
  tx: Transaction,
  emit: Emit,
  image: ChangedImage,
  manifest: Pick<ContainerManifest, "id">,
): Promise<void> {
  const versions = await listVersionsOfManifest(tx, manifest.id);
  await deleteContainerManifest(tx, manifest.id);
  for (const version of versions) await removeVersion(tx, emit, { ...image, version });
}

/**
 * Deletes a version by the API of packages. With the last tag goes the manifest, and with an index the images of its
 * platforms unless something else names them: their owner sees one image.
 */
export async function removeContainerVersion(
  tx: Transaction,
  emit: Emit,
  subject: OwnedVersion & { readonly actor: ForgeUser },
): Promise<void> {
  const { version, ...image } = subject;
  const manifest = await findManifestOfVersion(tx, version.id);
  if (manifest === undefined || (await listVersionsOfManifest(tx, manifest.id)).length > 1)
    return removeVersion(tx, emit, subject);
  for (const child of await listOrphanedManifests(tx, manifest))
    await removeManifest(tx, emit, image, child);
  await removeManifest(tx, emit, image, manifest);
}

/** Returns the tags of a manifest. */
export async function listTagsOf(db: Queries, manifest: ContainerManifest): Promise<string[]> {
  const versions = await listVersionsOfManifest(db, manifest.id);
  return versions.map(({ version }) => version).filter((version) => !isDigestVersion(version));
}

/** Lists a manifest under its digest if it has no version. Returns the new one. */
async function keepListed(tx: Transaction, image: ChangedImage, manifest: ContainerManifest) {
  if ((await listVersionsOfManifest(tx, manifest.id)).length > 0) return undefined;
  return listUnder(tx, image, manifest);
}

async function listUnder(tx: Transaction, image: ChangedImage, manifest: ContainerManifest) {
  const version = await insertOrFail(tx, image, manifest.digest);
  await setVersionManifest(tx, version.id, manifest.id);
  return version;
}

async function insertOrFail(tx: Transaction, image: ChangedImage, name: string) {
  const creatorId = image.actor.id;
  const version = await insertVersion(tx, image.package, {
    version: name,
    creatorId,
    metadata: "{}",
  });
  if (version === undefined) throw new Error(`the image has a version ${name} without a manifest`);
  return version;
}

/** A digest in the list of versions comes and goes with tags, which is neither a publication nor a deletion. */
const silent: Emit = async () => {};
