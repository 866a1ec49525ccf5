import { createHash } from "node:crypto";
import { z } from "zod";
import { contentTypeOf } from "../../../storage/cloud/content-type.ts";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  findDocument,
  finishDocument,
  INTERNAL_BACKEND,
  listTopicsOfDocuments,
  setDocumentStatus,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { putDocumentBytes } from "../../../storage/tables/vault/documents/stored-bytes.ts";
import { findTopic, setDocumentTopics } from "../../../storage/tables/vault/documents/topics.ts";
import { putSearchEntry } from "../../../storage/tables/vault/search-entries.ts";
import { AppError } from "../../errors.ts";
import { type JobContext, type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import type { SemanticIndex } from "../search/semantic-index.ts";
import type { Extraction, UnreadableReason } from "./extraction/outcome.ts";
import { EXTRACT_BYTES_MAX, type TextExtractor } from "./text-extractor.ts";
import type { TopicChooser } from "./topic-chooser.ts";

/** The job that extracts a document's text and classifies it. */
const PROCESS_JOB = "vault.documents.process";

/** Returns a function that queues the processing of a document, in the transaction that records its bytes. */
export function createProcessingRequest(enqueue: Enqueue) {
  return async (tx: Transaction, { id, userId }: VaultDocument): Promise<void> => {
    const payload = { document_id: id };
    await enqueue(tx, { kind: PROCESS_JOB, key: id, account: userId, payload });
  };
}
const ATTEMPTS_MAX = 4;
/**
 * The extractor reads one text at a time; the rest of a job waits for the AI provider or connected storage. With one job at a
 * time, a slow provider would make the documents of all users wait.
 */
export const PROCESSED_AT_ONCE = 4;
const payloadSchema = z.object({ document_id: z.string().brand<"DocumentId">() });

/** Reasons that are a property of a good file; every other reason is a failure of the file. */
const HARMLESS: ReadonlySet<UnreadableReason> = new Set([
  "unsupported_format",
  "legacy_format",
  "no_text",
  "ocr_off",
  "too_large",
]);

export interface DocumentProcessingDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Opens the files of documents in connected storage. */
  readonly files: Pick<StoredFiles, "open">;
  readonly extractor: TextExtractor;
  readonly topics: TopicChooser;
  readonly index: Pick<SemanticIndex, "prepare">;
}

/**
 * Creates the job. It may run more than once for a document: each run replaces text and classification. Topics that the
 * owner chose are kept; a document without topics gets the classified one.
 */
export function createDocumentProcessing(deps: DocumentProcessingDeps): JobKind {
  const { db } = deps;
  return {
    kind: PROCESS_JOB,
    attemptsMax: ATTEMPTS_MAX,
    concurrency: PROCESSED_AT_ONCE,
    inTurns: true,

    async onAbandoned(tx, payload) {
      // An invalid payload names no document to mark as failed; the job is dead-lettered anyway.
      const { data } = payloadSchema.safeParse(payload);
      if (data !== undefined)
        await setDocumentStatus(tx, data.document_id, "classification_failed");
    },

    async run(payload, { attempt, signal }) {
      const { document_id: id } = parsePayload(payloadSchema, payload);
      const document = await findDocument(db, id);
      // Deleted meanwhile: nothing is left to do.
      if (document === undefined) return;
      await db.transaction((tx) => setDocumentStatus(tx, id, "processing"));
      const { extraction, bytes } = await extract(document, { attempt, signal });
      const text = extraction.kind === "text" ? extraction.text : "";
      const titled = { documentId: id, text: `${document.filename}\n${text}` };
      const choice = await deps.topics.choose(document.userId, titled, signal);
      const noteText = await deps.index.prepare();
      await db.transaction(async (tx) => {
        // It may have been renamed, given topics or deleted while its text was read, and the chosen topic deleted.
        const current = await findDocument(tx, id);
        if (current === undefined) return;
        // Another content came meanwhile, with a job of its own.
        if (current.version !== document.version) return;
        const topic = choice && (await findTopic(tx, choice.topicId));
        const hasTopics = ((await listTopicsOfDocuments(tx, [id])).get(id) ?? []).length > 0;
        const contentType = toContentType(current, extraction);
        const isText = extraction.kind === "text";
        const reason = isText ? extraction.missing : extraction.reason;
        // A part of a text is enough to be classified and found.
        const isFailure = !isText && !HARMLESS.has(extraction.reason);
        await finishDocument(tx, id, {
          status: isFailure ? "classification_failed" : "ready",
          statusReason: reason,
          contentType,
          classification: choice &&
            topic && {
              topic: topic.name,
              confidence: choice.confidence,
              provider: choice.provider,
              words: choice.words,
            },
        });
        if (bytes !== undefined) await putDocumentBytes(tx, id, bytes);
        await putSearchEntry(tx, {
          userId: current.userId,
          source: { documentId: id },
          title: current.filename,
          body: text,
          contentType,
          connectionId: current.connectionId,
        });
        await noteText(tx, { documentId: id }, text);
        if (topic !== undefined && !hasTopics) await setDocumentTopics(tx, id, [topic.id]);
        await insertAudit(tx, {
          eventType: "document.classified",
          userId: document.userId,
          resourceId: id,
          metadata: { provider: choice?.provider ?? null, reason: reason ?? null },
        });
      });
    },
  };

  async function extract(
    document: VaultDocument,
    context: Pick<JobContext, "attempt" | "signal">,
  ): Promise<Read> {
    const { signal } = context;
    if (document.storageBackend !== INTERNAL_BACKEND) return extractFile(document, context);
    if (document.sizeBytes > EXTRACT_BYTES_MAX) return unreadable("too_large");
    const content = await deps.store.open(document.sha256, document.sizeBytes);
    if (content === undefined) return unreadable("damaged");
    const { filename, userId } = document;
    return { extraction: await deps.extractor.extract({ content, filename, userId, signal }) };
  }

  /** Reads a document of connected storage. If the provider is unreachable, the job is retried. */
  async function extractFile(
    document: VaultDocument,
    { attempt, signal }: Pick<JobContext, "attempt" | "signal">,
  ): Promise<Read> {
    const found = await deps.files.open(document).catch((error: unknown) => {
      // The connection cannot be opened at present.
      if (error instanceof AppError) return { kind: error.code };
      throw error;
    });
    if (found.kind === "no_connection" || found.kind === "not_found")
      return unreadable("provider_error");
    if (!("bytes" in found)) {
      if (attempt >= ATTEMPTS_MAX) return unreadable("provider_error");
      throw new Error(`the provider did not give the bytes: ${found.kind}`);
    }
    const { bytes } = found;
    try {
      if ((bytes.size ?? document.sizeBytes) > EXTRACT_BYTES_MAX) return unreadable("too_large");
      const hash = createHash("sha256");
      let sizeBytes = 0;
      const content = (await bytes.open()).compose(async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          sizeBytes += chunk.byteLength;
          yield chunk;
        }
      });
      const { filename, userId } = document;
      const extraction = await deps.extractor.extract({ content, filename, userId, signal });
      // Not read to its end.
      if (sizeBytes > EXTRACT_BYTES_MAX) return { extraction };
      return { extraction, bytes: { sizeBytes, sha256: hash.digest("hex") } };
    } finally {
      bytes.release();
    }
  }
}

/** The content types that clients send for files of unknown type. */
const UNKNOWN_TYPE = "application/octet-stream";

/** Returns the content type that the client sent, else the type detected from the bytes, else that of the name. */
function toContentType({ contentType, filename }: VaultDocument, extraction: Extraction): string {
  if (contentType !== UNKNOWN_TYPE) return contentType;
  return extraction.contentType ?? contentTypeOf(filename) ?? UNKNOWN_TYPE;
}

/** The text of a document, with size and hash of the file if the file may have changed. */
interface Read {
  readonly extraction: Extraction;
  readonly bytes?: { readonly sizeBytes: number; readonly sha256: string };
}

const unreadable = (reason: UnreadableReason): Read => ({
  extraction: { kind: "unreadable", reason },
});
