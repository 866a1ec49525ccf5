import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  findDocument,
  listTopicsOfDocuments,
  renameDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  addDocumentTopic,
  findTopic,
  removeDocumentTopic,
} from "../../../storage/tables/vault/documents/topics.ts";
import type { DocumentId } from "../../../storage/tables/vault/ids.ts";
import { renameSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { AppError } from "../../errors.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import { documentNotFound } from "./documents.service.ts";

/** A document that gets another name, and leaves the folder of one topic for that of another. */
export interface Refiling {
  readonly filename: string;
  /** Ids of topics; undefined where it leaves or enters none. */
  readonly leaves: string | undefined;
  readonly enters: string | undefined;
}

/**
 * Moves a document of the caller between the folders of topics. Its other topics stay, also those that it gets meanwhile.
 * Returns the refiling that reverses it. Refuses with `not_found` when the document or the topic that it enters is missing.
 */
export function refileDocument(
  db: Database,
  caller: VaultCaller,
  id: DocumentId,
  refiling: Refiling,
): Promise<Refiling> {
  return db.transaction(async (tx) => {
    const before = await findDocument(tx, id);
    if (before?.userId !== caller.userId) throw documentNotFound();
    const { filename } = refiling;
    if (filename !== before.filename) {
      await renameDocument(tx, id, filename);
      await renameSearchEntry(tx, id, filename);
    }
    const { hasLeft, hasEntered } = await changeTopics(tx, id, refiling);
    const topics = (await listTopicsOfDocuments(tx, [id])).get(id) ?? [];
    const metadata = { filename, previous_filename: before.filename, topics };
    await insertAudit(tx, toAudit(caller, "document.changed", id, metadata));
    return {
      filename: before.filename,
      leaves: hasEntered ? refiling.enters : undefined,
      enters: hasLeft ? refiling.leaves : undefined,
    };
  });
}

async function changeTopics(
  tx: Transaction,
  id: DocumentId,
  { leaves, enters }: Refiling,
): Promise<{ readonly hasLeft: boolean; readonly hasEntered: boolean }> {
  if (leaves === enters) return { hasLeft: false, hasEntered: false };
  if (enters !== undefined && (await findTopic(tx, enters)) === undefined)
    throw new AppError("not_found", "Topic not found");
  return {
    hasLeft: leaves !== undefined && (await removeDocumentTopic(tx, id, leaves)),
    hasEntered: enters !== undefined && (await addDocumentTopic(tx, id, enters)),
  };
}
