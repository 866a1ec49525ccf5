import type { Database, Queries, Transaction } from "../../../engine/database.ts";
import { integer, id, now, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId } from "../ids.ts";

const blobs = defineTable("forge_container_blobs", {
  ownerId: id<UserId>(),
  /** The name of the image that has it. */
  image: text(),
  /** `algorithm:hex`, as clients name it. */
  digest: text(),
  /** Names the object with its bytes. */
  sha256: text(),
  /** In bytes. */
  size: integer(),
  createdAt: now(),
  /** When a client last uploaded or mounted it, or asked whether it must. */
  usedAt: now(),
});
/** A blob of a container image. Times are epoch milliseconds. */
export type ContainerBlob = RecordOf<typeof blobs>;

/** What identifies a blob. */
export type ContainerBlobKey = Pick<ContainerBlob, "ownerId" | "image" | "digest">;

const uploads = defineTable("forge_container_uploads", {
  id: text(),
  ownerId: id<UserId>(),
  image: text(),
  /** Of all parts, in bytes. */
  size: integer(),
  createdAt: now(),
  /** When the last part arrived. */
  updatedAt: now(),
});
/** An upload of a blob that is not complete. */
export type ContainerUpload = RecordOf<typeof uploads>;

const parts = defineTable("forge_container_upload_parts", {
  uploadId: text(),
  /** The place of its first byte. */
  start: integer(),
  size: integer(),
  /** Names the object with its bytes. */
  sha256: text(),
});
/** A part of an upload. */
export type ContainerUploadPart = RecordOf<typeof parts>;

/** Records that an image has a blob. Idempotent. */
export async function insertContainerBlob(
  tx: Transaction,
  blob: ContainerBlobKey & Pick<ContainerBlob, "sha256" | "size">,
): Promise<void> {
  await blobs.upsert(
    tx,
    blob,
    "ON CONFLICT (owner_id, image, digest) DO UPDATE SET used_at = excluded.used_at",
  );
}

export function findContainerBlob(
  db: Queries,
  { ownerId, image, digest }: ContainerBlobKey,
): Promise<ContainerBlob | undefined> {
  return blobs.find(db, { ownerId, image, digest });
}

/** Images of an owner with one blob that are looked at. */
const IMAGES_MAX = 100;

/** Returns the blobs of one digest in the images of an owner, by the name of the image. */
export function listContainerBlobsOfOwner(
  db: Queries,
  ownerId: UserId,
  digest: string,
): Promise<ContainerBlob[]> {
  return blobs.list(db, { ownerId, digest }, { order: "image", limit: IMAGES_MAX });
}

const DIGESTS_PER_QUERY = 500;

/** Returns those of the named blobs that an image has, by digest. */
export async function listContainerBlobs(
  db: Queries,
  { ownerId, image }: Pick<ContainerBlob, "ownerId" | "image">,
  digests: readonly string[],
): Promise<ReadonlyMap<string, ContainerBlob>> {
  const found = new Map<string, ContainerBlob>();
  for (let at = 0; at < digests.length; at += DIGESTS_PER_QUERY) {
    const digest = digests.slice(at, at + DIGESTS_PER_QUERY);
    for (const blob of await blobs.list(db, { ownerId, image, digest }))
      found.set(blob.digest, blob);
  }
  return found;
}

/** Records that a client asked whether it must upload the blob. */
export async function touchContainerBlob(tx: Transaction, blob: ContainerBlobKey): Promise<void> {
  const { ownerId, image, digest } = blob;
  await blobs.update(tx, { ownerId, image, digest }, { usedAt: tx.now });
}

/** A manifest of the blob's image names it. */
const NAMED = `EXISTS (SELECT 1 FROM forge_container_references r
  JOIN forge_container_manifests m ON m.id = r.manifest_id JOIN forge_packages p ON p.id = m.package_id
  WHERE r.digest = forge_container_blobs.digest AND p.owner_id = forge_container_blobs.owner_id
  AND p.type = 'container' AND p.lower_name = forge_container_blobs.image)`;

/** Returns whether a manifest of its image names a blob. */
export async function isContainerBlobNamed(db: Queries, blob: ContainerBlobKey): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS found FROM forge_container_blobs WHERE owner_id = ? AND image = ? AND digest = ? AND ${NAMED}`,
    blob.ownerId,
    blob.image,
    blob.digest,
  );
  return row !== undefined;
}

/** Removes a blob from an image. Returns whether the image had it. */
export async function deleteContainerBlob(tx: Transaction, blob: ContainerBlobKey) {
  const { ownerId, image, digest } = blob;
  return (await blobs.delete(tx, { ownerId, image, digest })) > 0;
}

/** Removes the blobs that no manifest names and no client has used since a time. Returns how many. */
export async function deleteUnusedContainerBlobs(
  db: Database,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const { changes } = await db.run(
    `DELETE FROM forge_container_blobs WHERE (owner_id, image, digest) IN (
       SELECT owner_id, image, digest FROM forge_container_blobs WHERE used_at < ? AND NOT ${NAMED} LIMIT ?)
     AND used_at < ? AND NOT ${NAMED}`,
    before,
    limit,
    before,
  );
  return changes;
}

/** Returns how many blobs with the bytes of an object no manifest names. */
export async function countUnnamedBlobs(db: Queries, sha256: string): Promise<number> {
  const row = await db.get<{ count: number }>(
    `SELECT COUNT(*) AS count FROM forge_container_blobs WHERE sha256 = ? AND NOT ${NAMED}`,
    sha256,
  );
  return Number(row?.count ?? 0);
}

/** Begins an upload. */
export function insertContainerUpload(
  tx: Transaction,
  upload: Pick<ContainerUpload, "id" | "ownerId" | "image">,
): Promise<ContainerUpload> {
  return uploads.insert(tx, { ...upload, size: 0 });
}

/** Returns an upload into an image. */
export function findContainerUpload(
  db: Queries,
  { id: uploadId, ownerId, image }: Pick<ContainerUpload, "id" | "ownerId" | "image">,
): Promise<ContainerUpload | undefined> {
  return uploads.find(db, { id: uploadId, ownerId, image });
}

export function countContainerUploads(db: Queries, ownerId: UserId): Promise<number> {
  return uploads.count(db, { ownerId });
}

/** Adds a part at the end of an upload. Returns false when the upload has another size by now. */
export async function appendContainerPart(
  tx: Transaction,
  upload: ContainerUpload,
  { size, sha256 }: Pick<ContainerUploadPart, "size" | "sha256">,
): Promise<boolean> {
  const start = upload.size;
  const changed = await uploads.update(
    tx,
    { id: upload.id, size: start },
    { size: start + size, updatedAt: tx.now },
  );
  if (changed === 0) return false;
  await parts.insert(tx, { uploadId: upload.id, start, size, sha256 });
  return true;
}

/** Returns the parts of an upload in their order. */
export function listContainerParts(db: Queries, uploadId: string): Promise<ContainerUploadPart[]> {
  return parts.list(db, { uploadId }, { order: "start" });
}

export function countContainerParts(db: Queries, uploadId: string): Promise<number> {
  return parts.count(db, { uploadId });
}

/** Ends an upload. Returns false when it has another size by now, or has ended. */
export async function deleteContainerUpload(
  tx: Queries,
  { id: uploadId, size }: Pick<ContainerUpload, "id" | "size">,
): Promise<boolean> {
  return (await uploads.delete(tx, { id: uploadId, size })) > 0;
}

/** Removes the uploads to which nothing was added since a time. */
export async function deleteOldContainerUploads(db: Queries, before: number): Promise<void> {
  await uploads.delete(db, sql`updated_at < ${before}`);
}

/** Returns how many bytes the images of an owner have: each blob once, manifests, and uploads that are not complete. */
export async function sumContainerBytes(db: Queries, ownerId: UserId): Promise<number> {
  const row = await db.get<{ blobs: number; manifests: number; uploads: number }>(
    `SELECT
       (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM
         (SELECT sha256, MAX(size) AS size FROM forge_container_blobs WHERE owner_id = ? GROUP BY sha256) AS stored) AS blobs,
       (SELECT CAST(COALESCE(SUM(m.size), 0) AS BIGINT) FROM forge_container_manifests m
         JOIN forge_packages p ON p.id = m.package_id WHERE p.owner_id = ?) AS manifests,
       (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM forge_container_uploads WHERE owner_id = ?) AS uploads`,
    ownerId,
    ownerId,
    ownerId,
  );
  return row === undefined ? 0 : Number(row.blobs) + Number(row.manifests) + Number(row.uploads);
}
