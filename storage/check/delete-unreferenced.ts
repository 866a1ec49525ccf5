import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DataDirectory } from "../data-directory.ts";
import { openSqliteReader } from "../engine/sqlite-reader.ts";
import { listKeys } from "../objects/file-objects.ts";
import { isObjectReferenced } from "../tables/common/object-references.ts";

/** What a collection has deleted, or would delete. */
export interface DeletedObjects {
  readonly objects: number;
  readonly bytes: number;
}

/**
 * Deletes the objects of a home that nothing refers to, whatever their age. Needs the instance lock: an upload that is not
 * recorded yet looks the same. With `isDryRun` it only counts them. Idempotent.
 */
export async function deleteUnreferencedObjects(
  directory: DataDirectory,
  { isDryRun, signal }: { readonly isDryRun: boolean; readonly signal: AbortSignal },
): Promise<DeletedObjects> {
  const db = openSqliteReader(directory.database);
  let objects = 0;
  let bytes = 0;
  try {
    for await (const sha256 of listKeys(directory.packages)) {
      signal.throwIfAborted();
      if (await isObjectReferenced(db, sha256)) continue;
      const path = join(directory.packages, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
      const { size } = await stat(path);
      if (!isDryRun) await rm(path, { force: true });
      objects += 1;
      bytes += size;
    }
  } finally {
    db.close();
  }
  return { objects, bytes };
}
