import type { Queries, Transaction } from "../../../engine/database.ts";
import { integer, now, optional, text, textId } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { DocumentId } from "../ids.ts";

const thumbnails = defineTable("vault_document_thumbnails", {
  documentId: textId<DocumentId>(),
  /** The content that it shows: its hash in lower-case hex, or the name of a version in connected storage. */
  contentSha256: text(),
  /** The object of the picture; undefined when none can be drawn. */
  sha256: optional(text()),
  sizeBytes: optional(integer()),
  /** Why none can be drawn. */
  reason: optional(text()),
  createdAt: now(),
});

/** The small picture of a document, or why there is none. */
export type Thumbnail = RecordOf<typeof thumbnails>;

export const findThumbnail = (
  db: Queries,
  documentId: DocumentId,
): Promise<Thumbnail | undefined> => thumbnails.find(db, { documentId });

/** Replaces the thumbnail of a document. */
export async function saveThumbnail(
  tx: Transaction,
  thumbnail: Omit<Thumbnail, "createdAt">,
): Promise<Thumbnail> {
  await thumbnails.delete(tx, { documentId: thumbnail.documentId });
  return thumbnails.insert(tx, thumbnail);
}
