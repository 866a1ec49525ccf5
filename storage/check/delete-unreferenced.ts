import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DataDirectory } from "../data-directory.ts";
import { openSqlite } from "../engine/sqlite.ts";
import { openSqliteReader, type SqliteReader } from "../engine/sqlite-reader.ts";
import { listKeys } from "../objects/file-objects.ts";
import { countObjectReferences, isObjectReferenced } from "../tables/common/object-references.ts";
import {
  countUnnamedBlobs,
  deleteUnusedContainerBlobs,
} from "../tables/forge/packages/container-blobs.ts";

/** What a collection has deleted, or would delete. */
export interface DeletedObjects {
  readonly objects: number;
  readonly bytes: number;
}

/** Blobs that one statement deletes. */
const BLOBS_AT_ONCE = 10_000;

/**
 * Deletes the objects of a home that nothing refers to, whatever their age, and the blobs of container images that no manifest
 * names with theirs. Needs the instance lock: an upload that is not recorded yet looks the same. With `isDryRun` it only counts
 * them. Idempotent.
 */
export async function deleteUnreferencedObjects(
  directory: DataDirectory,
  {
    isDryRun,
    signal,
    clock,
  }: {
    readonly isDryRun: boolean;
    readonly signal: AbortSignal;
    /** Epoch milliseconds. */
    readonly clock: () => number;
  },
): Promise<DeletedObjects> {
  const db = openSqliteReader(directory.database);
  const deleted = { objects: 0, bytes: 0 };
  const remove = async (sha256: string) => {
    const path = join(directory.packages, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    const { size } = await stat(path);
    if (!isDryRun) await rm(path, { force: true });
    deleted.objects += 1;
    deleted.bytes += size;
  };
  try {
    const unnamed: string[] = [];
    for await (const sha256 of listKeys(directory.packages)) {
      signal.throwIfAborted();
      if (!(await isObjectReferenced(db, sha256))) await remove(sha256);
      else if (await isOfUnnamedBlobs(db, sha256)) unnamed.push(sha256);
    }
    // Afterwards: on a full disk no row can be deleted before there is space.
    if (!isDryRun && unnamed.length > 0) await deleteUnnamedBlobs(directory, signal, clock);
    for (const sha256 of unnamed)
      if (isDryRun || !(await isObjectReferenced(db, sha256))) await remove(sha256);
  } finally {
    db.close();
  }
  return deleted;
}

/** Returns whether only blobs that no manifest names have the bytes of an object. */
async function isOfUnnamedBlobs(db: SqliteReader, sha256: string): Promise<boolean> {
  const unnamed = await countUnnamedBlobs(db, sha256);
  return unnamed > 0 && unnamed === (await countObjectReferences(db, sha256));
}

async function deleteUnnamedBlobs(
  { database }: DataDirectory,
  signal: AbortSignal,
  clock: () => number,
): Promise<void> {
  const db = openSqlite({ path: database, clock });
  try {
    const all = { before: Number.MAX_SAFE_INTEGER, limit: BLOBS_AT_ONCE };
    while ((await deleteUnusedContainerBlobs(db, all)) > 0) signal.throwIfAborted();
  } finally {
    await db.close();
  }
}
