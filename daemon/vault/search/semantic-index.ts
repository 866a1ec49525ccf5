import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deletePassages,
  findEmbeddingBytes,
  findIndexedText,
  type IndexSource,
  listIndexStates,
  type Passage,
  replacePassages,
  setIndexStatus,
} from "../../../storage/tables/vault/passages.ts";
import {
  type JobKind,
  parsePayload,
  PermanentJobError,
  RetryLaterError,
} from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { AppError } from "../../errors.ts";
import type { Embedder, EmbeddingModel, Embeddings } from "../ai/embedder.ts";

const INDEX_JOB = "vault.semantic.index";
const REBUILD_JOB = "vault.semantic.rebuild";

const sourceSchema = z.union([
  z
    .object({ document_id: z.string().brand<"DocumentId">() })
    .transform(({ document_id: documentId }) => ({ documentId })),
  z.object({ item_id: z.string() }).transform(({ item_id: itemId }) => ({ itemId })),
]);

export type SemanticIndex = ReturnType<typeof createSemanticIndex>;

/** Texts in one request: their vectors stay well below the largest answer that is read. */
const BATCH = 16;
const REBUILD_BATCH = 100;
/** Transient failures; all others last until the provider is configured again. */
const PASSING: ReadonlySet<string> = new Set([
  "unreachable",
  "timeout",
  "rate_limited",
  "provider_error",
]);

/** Returns a function that enqueues the rebuilding of the index, after a change of the provider. */
export function createIndexRebuild(enqueue: Enqueue): (tx: Transaction) => Promise<void> {
  return async (tx) => void (await enqueue(tx, { kind: REBUILD_JOB, key: "all", payload: {} }));
}

/** The index of meanings: passages of texts with embeddings of the active AI provider. */
export function createSemanticIndex({
  db,
  enqueue,
  embedder,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly embedder: Embedder;
}) {
  const enqueueIndexing = (tx: Transaction, source: IndexSource) =>
    enqueue(
      tx,
      "documentId" in source
        ? {
            kind: INDEX_JOB,
            key: source.documentId,
            payload: { document_id: source.documentId },
          }
        : { kind: INDEX_JOB, key: source.itemId, payload: { item_id: source.itemId } },
    );

  /** Embeds the passages of a text. Throws when the provider failed. */
  async function embedAll(
    model: EmbeddingModel,
    body: string,
    signal: AbortSignal,
  ): Promise<Passage[]> {
    const parts = toPassages(body);
    // Vectors of another dimension than the model's others could not be compared with them.
    let bytes = await findEmbeddingBytes(db, model.identity);
    const passages: Passage[] = [];
    for (let at = 0; at < parts.length; at += BATCH) {
      signal.throwIfAborted();
      const batch = parts.slice(at, at + BATCH);
      const result = await embedder.embed(
        model,
        batch.map(({ start, end }) => body.slice(start, end).toWellFormed()),
        signal,
      );
      if (result.kind === "failed") throw toFailure(result);
      for (const [index, part] of batch.entries()) {
        const vector = result.vectors[index];
        if (vector === undefined) throw new Error("the embedder returned too few vectors");
        bytes ??= vector.byteLength;
        if (vector.byteLength !== bytes) throw new PermanentJobError(OTHER_DIMENSION);
        passages.push({ ...part, embedding: new Uint8Array(vector.buffer) });
      }
    }
    return passages;
  }

  const indexJob: JobKind = {
    kind: INDEX_JOB,
    attemptsMax: 6,
    retryFirstMs: 30_000,

    async onAbandoned(tx, payload) {
      const { data } = sourceSchema.safeParse(payload);
      if (data !== undefined) await setIndexStatus(tx, data, "failed");
    },

    async run(payload, { signal }) {
      const source = parsePayload(sourceSchema, payload);
      const model = await embedder.findModel();
      const text = await findIndexedText(db, source);
      if (model === undefined || text === undefined) {
        await db.transaction(async (tx) => {
          await deletePassages(tx, source);
          await setIndexStatus(tx, source, "none");
        });
        return;
      }
      const passages = await embedAll(model, text.body, signal);
      // The provider was switched meanwhile: the rebuilding has enqueued this text again.
      if ((await embedder.findModel())?.identity !== model.identity) return;
      await db.transaction(async (tx) => {
        // A newer text has a job of its own.
        if (await replacePassages(tx, text, model.identity, passages))
          await setIndexStatus(tx, source, "ready");
      });
    },
  };

  const rebuildJob: JobKind = {
    kind: REBUILD_JOB,
    async run(_payload, { signal }) {
      const model = await embedder.findModel();
      let afterId = 0;
      for (;;) {
        signal.throwIfAborted();
        const from = afterId;
        const texts = await db.transaction(async (tx) => {
          const states = await listIndexStates(tx, model?.identity ?? "", {
            afterId: from,
            limit: REBUILD_BATCH,
          });
          for (const { source, isCurrent, hasPassages } of states) {
            if (model === undefined) {
              if (hasPassages) await deletePassages(tx, source);
              await setIndexStatus(tx, source, "none");
            } else if (isCurrent) await setIndexStatus(tx, source, "ready");
            else {
              await setIndexStatus(tx, source, hasPassages ? "stale" : "pending");
              await enqueueIndexing(tx, source);
            }
          }
          return states;
        });
        const last = texts.at(-1);
        if (last === undefined) return;
        afterId = last.entryId;
      }
    },
  };

  return {
    /**
     * Returns a function to be called in the transaction that stores a new text of a document or item: marks it as
     * `pending` and enqueues its job, or as `none` without a text or a provider of embeddings.
     */
    async prepare(): Promise<
      (tx: Transaction, source: IndexSource, text: string) => Promise<void>
    > {
      const hasModel = await embedder.findModel().then(
        (model) => model !== undefined,
        (error: unknown) => {
          // The key cannot be read. The job fails, and runs again when the key is set.
          if (error instanceof AppError) return true;
          throw error;
        },
      );
      return async (tx, source, text) => {
        if (!hasModel || text === "") {
          await deletePassages(tx, source);
          await setIndexStatus(tx, source, "none");
          return;
        }
        await setIndexStatus(tx, source, "pending");
        await enqueueIndexing(tx, source);
      };
    },

    jobs: [indexJob, rebuildJob],
  };
}

const OTHER_DIMENSION =
  "the embedding model makes vectors of another dimension than the index has; build the index again: " +
  '"croft vault admin ai set" with --no-embeddings, then with --embedding-model';

function toFailure({ code, retryAfterMs }: Extract<Embeddings, { readonly kind: "failed" }>) {
  const message = `the AI provider gave no embeddings: ${code}`;
  if (!PASSING.has(code)) return new PermanentJobError(message);
  return retryAfterMs === undefined
    ? new Error(message)
    : new RetryLaterError(message, retryAfterMs);
}

/** A part of a text, as UTF-16 offsets. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
}

/** About 250 tokens of English: models embed that much well, and a search can show it. */
const PASSAGE_CHARACTERS = 1_000;
/** The beginning of a long text is indexed: 200,000 characters. */
const PASSAGES_MAX = 200;

/** Splits a text into passages that end at spaces where they can. Passages without letters and digits are left out. */
export function toPassages(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let start = 0;
  while (start < text.length && parts.length < PASSAGES_MAX) {
    const end = findEnd(text, start);
    if (/[\p{L}\p{N}]/u.test(text.slice(start, end))) parts.push({ start, end });
    start = end;
  }
  return parts;
}

/** The end of a passage: behind the last line break or space of its second half, else where it is full. */
function findEnd(text: string, start: number): number {
  const full = start + PASSAGE_CHARACTERS;
  if (full >= text.length) return text.length;
  const half = start + PASSAGE_CHARACTERS / 2;
  for (const separator of ["\n", ". ", " "]) {
    const at = text.lastIndexOf(separator, full - separator.length);
    if (at >= half) return at + separator.length;
  }
  // A pair of surrogates stays together.
  return /[\uD800-\uDBFF]/.test(text.charAt(full - 1)) ? full - 1 : full;
}
