import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, integer, now, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { ReleaseAssetId, ReleaseId, UserId } from "../ids.ts";

const assets = defineTable("forge_release_assets", {
  id: generated(id<ReleaseAssetId>()),
  /** Part of its address. */
  uuid: text(),
  releaseId: id<ReleaseId>(),
  /** Undefined once the account is deleted. */
  uploaderId: optional(id<UserId>()),
  /** Several files of a release may have one name. */
  name: text(),
  /** Names the object with its bytes; undefined for a link. */
  sha256: optional(text()),
  /** In bytes; 0 for a link. */
  size: integer(),
  /** Detected from the bytes; never a type that a browser executes. */
  contentType: text(),
  /** The address of a file that is kept elsewhere; empty for one that is kept here. */
  link: text(),
  downloadCount: generated(integer()),
  /** Epoch milliseconds. */
  createdAt: now(),
});
/** A file of a release, or a link to one. */
export type ReleaseAsset = RecordOf<typeof assets>;

export type NewReleaseAsset = Omit<ReleaseAsset, "id" | "downloadCount" | "createdAt">;

export async function insertReleaseAsset(
  tx: Transaction,
  asset: NewReleaseAsset,
): Promise<ReleaseAsset> {
  return assets.insert(tx, asset);
}

export async function findReleaseAsset(
  db: Queries,
  releaseId: ReleaseId,
  assetId: ReleaseAssetId,
): Promise<ReleaseAsset | undefined> {
  return assets.find(db, { id: assetId, releaseId });
}

export async function findReleaseAssetByUuid(
  db: Queries,
  uuid: string,
): Promise<ReleaseAsset | undefined> {
  return assets.find(db, { uuid });
}

/** Returns the newest file of a name. */
export async function findReleaseAssetByName(
  db: Queries,
  releaseId: ReleaseId,
  name: string,
): Promise<ReleaseAsset | undefined> {
  return assets.find(db, { releaseId, name }, "id DESC");
}

/** Returns the files of releases, oldest first, by the release's id. */
export async function listReleaseAssets(
  db: Queries,
  releaseIds: readonly ReleaseId[],
): Promise<ReadonlyMap<ReleaseId, readonly ReleaseAsset[]>> {
  if (releaseIds.length === 0) return new Map();
  const found = await assets.list(db, { releaseId: releaseIds }, { order: "id" });
  return Map.groupBy(found, ({ releaseId }) => releaseId);
}

export async function countReleaseAssets(db: Queries, releaseId: ReleaseId): Promise<number> {
  return assets.count(db, { releaseId });
}

export async function changeReleaseAsset(
  tx: Transaction,
  { id: assetId }: ReleaseAsset,
  changes: Partial<Pick<ReleaseAsset, "name" | "link">>,
): Promise<ReleaseAsset | undefined> {
  return assets.change(tx, { id: assetId }, changes);
}

/** Deletes a file. Idempotent. */
export async function deleteReleaseAsset(
  tx: Transaction,
  { id: assetId }: ReleaseAsset,
): Promise<void> {
  await assets.delete(tx, { id: assetId });
}

/** Counts a download. */
export async function countReleaseDownload(
  db: Queries,
  { id: assetId }: ReleaseAsset,
): Promise<void> {
  await assets.update(db, { id: assetId }, { downloadCount: sql`download_count + 1` });
}
