import type { Queries } from "../../engine/database.ts";
import type { ConnectionId } from "./ids.ts";

/** The result of a completed upload. Times are epoch milliseconds. */
export interface UploadedRow {
  readonly uploadId: string;
  readonly connectionId: ConnectionId;
  /** Of the uploaded bytes, in hex. */
  readonly sha256: string;
  /** Undefined if the storage has the file but recording it failed. */
  readonly providerItemId: string | undefined;
  readonly name: string;
  /** Undefined for the root. */
  readonly parentRef: string | undefined;
  /** In bytes. */
  readonly size: number;
  readonly expiresAt: number;
}

/** Stores a result. The first one of an upload stays. */
export async function insertUploadResult(db: Queries, row: UploadedRow): Promise<void> {
  await db.run(
    `INSERT INTO vault_upload_results
       (upload_id, connection_id, sha256, provider_item_id, name, parent_ref, size, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (upload_id) DO NOTHING`,
    row.uploadId,
    row.connectionId,
    row.sha256,
    row.providerItemId ?? null,
    row.name,
    row.parentRef ?? null,
    row.size,
    row.expiresAt,
  );
}

/** Returns the result of an upload of these bytes, unless it has expired. */
export async function findUploadResult(
  db: Queries,
  of: Pick<UploadedRow, "uploadId" | "connectionId" | "sha256"> & { readonly now: number },
): Promise<UploadedRow | undefined> {
  const row = await db.get<ResultRow>(
    `SELECT provider_item_id, name, parent_ref, size, expires_at FROM vault_upload_results
     WHERE upload_id = ? AND connection_id = ? AND sha256 = ? AND expires_at > ?`,
    of.uploadId,
    of.connectionId,
    of.sha256,
    of.now,
  );
  if (row === undefined) return undefined;
  return {
    uploadId: of.uploadId,
    connectionId: of.connectionId,
    sha256: of.sha256,
    providerItemId: row.provider_item_id ?? undefined,
    name: row.name,
    parentRef: row.parent_ref ?? undefined,
    size: Number(row.size),
    expiresAt: Number(row.expires_at),
  };
}

/** Deletes the results that have expired. */
export async function deleteExpiredUploadResults(db: Queries, now: number): Promise<void> {
  await db.run("DELETE FROM vault_upload_results WHERE expires_at <= ?", now);
}

interface ResultRow {
  provider_item_id: string | null;
  name: string;
  parent_ref: string | null;
  size: number;
  expires_at: number;
}
