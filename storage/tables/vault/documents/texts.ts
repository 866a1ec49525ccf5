// The extracted texts of documents, which the search index holds.
import type { Queries } from "../../../engine/database.ts";
import type { AccountId, DocumentId } from "../ids.ts";

/** A topic's name key with the text of a document that has the topic, for learning. Newest documents first. */
export async function listClassifiedTexts(
  db: Queries,
  userId: AccountId,
  {
    documentsMax,
    charactersMax,
  }: { readonly documentsMax: number; readonly charactersMax: number },
): Promise<{ readonly topicId: string; readonly documentId: DocumentId; readonly text: string }[]> {
  const rows = await db.all<{ topic_id: string; document_id: DocumentId; text: string }>(
    `SELECT link.topic_id, document.id AS document_id,
       entry.title || ' ' || substr(entry.body, 1, ${charactersMax}) AS text
     FROM vault_documents AS document
     JOIN vault_document_topics AS link ON link.document_id = document.id
     JOIN vault_search_entries AS entry ON entry.document_id = document.id
     WHERE document.user_id = ? AND document.trashed_at IS NULL ORDER BY document.created_at DESC, document.id DESC LIMIT ?`,
    userId,
    documentsMax,
  );
  return rows.map((row) => ({
    topicId: row.topic_id,
    documentId: row.document_id,
    text: row.text,
  }));
}

/** Returns the extracted text of a document; undefined before the extraction, and when it found no text. */
export async function findDocumentText(db: Queries, id: DocumentId): Promise<string | undefined> {
  const row = await db.get<{ body: string }>(
    "SELECT body FROM vault_search_entries WHERE document_id = ?",
    id,
  );
  return row === undefined || row.body === "" ? undefined : row.body;
}
