import type { Queries } from "../../engine/database.ts";
import { integer, optional, text, textId } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { ConnectionId } from "./ids.ts";

const uploadResults = defineTable("vault_upload_results", {
  uploadId: text(),
  connectionId: textId<ConnectionId>(),
  /** Of the uploaded bytes, in hex. */
  sha256: text(),
  /** Undefined if the storage has the file but recording it failed. */
  providerItemId: optional(text()),
  name: text(),
  /** Undefined for the root. */
  parentRef: optional(text()),
  /** In bytes. */
  size: integer(),
  expiresAt: integer(),
});
/** The result of a completed upload. Times are epoch milliseconds. */
export type UploadedRow = RecordOf<typeof uploadResults>;

/** Stores a result. The first one of an upload stays. */
export async function insertUploadResult(db: Queries, row: UploadedRow): Promise<void> {
  await uploadResults.upsert(db, row, "ON CONFLICT (upload_id) DO NOTHING");
}

/** Returns the result of an upload of these bytes, unless it has expired. */
export const findUploadResult = (
  db: Queries,
  of: Pick<UploadedRow, "uploadId" | "connectionId" | "sha256"> & { readonly now: number },
): Promise<UploadedRow | undefined> =>
  uploadResults.find(
    db,
    sql`upload_id = ${of.uploadId} AND connection_id = ${of.connectionId} AND sha256 = ${of.sha256}
      AND expires_at > ${of.now}`,
  );

/** Deletes the results that have expired. */
export async function deleteExpiredUploadResults(db: Queries, now: number): Promise<void> {
  await uploadResults.delete(db, sql`expires_at <= ${now}`);
}
