import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../../../storage/engine/database.ts";
import { createLocks } from "../../../storage/locks.ts";
import {
  findEmbeddingBytes,
  findPassageTexts,
  listPassageVectors,
} from "../../../storage/tables/vault/passages.ts";
import type { SearchFilter, SearchMatch } from "../../../storage/tables/vault/search.ts";
import { AppError } from "../../errors.ts";
import type { Embedder } from "../ai/embedder.ts";
import { toFieldError } from "../cloud/field-error.ts";

export type SemanticSearch = ReturnType<typeof createSemanticSearch>;

/** Maximum number of results; further texts are not near. */
const MATCHES_MAX = 50;
/** Number of vectors that are compared before other requests run: about two milliseconds. */
const BATCH = 200;
const SNIPPET_CHARACTERS = 240;

/** Finds texts by meaning. */
export function createSemanticSearch({
  db,
  embedder,
}: {
  readonly db: Database;
  readonly embedder: Embedder;
}) {
  const locks = createLocks();

  /** Compares the query with every passage of the user: exact, and fast enough for the documents of one person. */
  async function findNearest(
    query: Float32Array,
    model: string,
    filter: SearchFilter,
  ): Promise<{ readonly entryId: number; readonly passageId: number; readonly score: number }[]> {
    let nearest = new Map<number, { entryId: number; passageId: number; score: number }>();
    let afterId = 0;
    for (;;) {
      const batch = await listPassageVectors(db, model, filter, { afterId, limit: BATCH });
      for (const { id, entryId, embedding } of batch) {
        const score = toSimilarity(query, embedding);
        if (score !== undefined && score > (nearest.get(entryId)?.score ?? -Infinity))
          nearest.set(entryId, { entryId, passageId: id, score });
      }
      if (nearest.size > MATCHES_MAX * 4)
        nearest = new Map(toBest([...nearest.values()]).map((match) => [match.entryId, match]));
      const last = batch.at(-1);
      if (last === undefined) return toBest([...nearest.values()]);
      afterId = last.id;
      await nextTurn();
    }
  }

  return {
    /**
     * Returns the texts with the passages nearest to a query, nearest first. Refuses with `unprocessable` when no provider of
     * embeddings is active, with `unavailable` when it does not answer or its key cannot be read.
     */
    async find(query: string, filter: SearchFilter): Promise<readonly SearchMatch[]> {
      const model = await embedder.findModel().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        throw new AppError(
          "unavailable",
          "The stored key of the AI provider cannot be read. Search without semantic until an administrator sets it again.",
          { cause: error },
        );
      });
      if (model === undefined)
        throw toFieldError(
          ["query", "semantic"],
          "No AI provider with embeddings is active on this server. Search without semantic.",
          "no_embeddings",
        );
      // One scan of a user at a time: a bound on the work of this daemon.
      return locks.withLocks([filter.userId], async () => {
        const embedded = await embedder.embed(model, [query]);
        const vector = embedded.kind === "embedded" ? embedded.vectors[0] : undefined;
        if (vector === undefined)
          throw new AppError(
            "unavailable",
            "The AI provider did not answer the search. Try again, or search without semantic.",
          );
        const bytes = await findEmbeddingBytes(db, model.identity);
        // Otherwise the result would be empty without a reason.
        if (bytes !== undefined && bytes !== vector.byteLength)
          throw new AppError(
            "unavailable",
            "The AI provider has another embedding model under the same name. An administrator can build the index again by switching embeddings off and on. Search without semantic until then.",
          );
        const found = await findNearest(vector, model.identity, filter);
        const texts = await findPassageTexts(
          db,
          found.map(({ passageId }) => passageId),
          SNIPPET_CHARACTERS,
        );
        return found.flatMap(({ entryId, passageId, score }): SearchMatch[] => {
          const passage = texts.get(passageId);
          if (passage === undefined) return [];
          const { source, text } = passage;
          return [
            {
              entryId,
              documentId: "documentId" in source ? source.documentId : undefined,
              itemId: "itemId" in source ? source.itemId : undefined,
              score,
              passage: text,
            },
          ];
        });
      });
    },
  };
}

/** Cosine similarity of vectors of length one; undefined for a damaged row of another length. */
function toSimilarity(query: Float32Array, stored: Uint8Array): number | undefined {
  if (stored.byteLength !== query.byteLength) return undefined;
  // Copied, because the bytes of a row may begin at any offset; `slice` of a `Buffer`, as PostgreSQL's driver returns, is not a copy.
  const vector = new Float32Array(new Uint8Array(stored).buffer);
  let sum = 0;
  for (let at = 0; at < query.length; at += 1) sum += (query[at] ?? 0) * (vector[at] ?? 0);
  return sum;
}

function toBest<T extends { readonly score: number; readonly entryId: number }>(
  all: readonly T[],
): T[] {
  return all.toSorted((a, b) => b.score - a.score || a.entryId - b.entryId).slice(0, MATCHES_MAX);
}

/**
 * The constant of the fusion: a rank beyond it adds little to the rank of a text (reciprocal rank fusion, Cormack et
 * al. 2009).
 */
const RANK_OFFSET = 60;

/** Merges lists by rank, because scores of different searches cannot be compared. A text keeps its first passage. */
export function fuseRanks(...lists: readonly (readonly SearchMatch[])[]): SearchMatch[] {
  const fused = new Map<number, SearchMatch>();
  for (const list of lists)
    for (const [rank, match] of list.entries()) {
      const earlier = fused.get(match.entryId);
      const score = (earlier?.score ?? 0) + 1 / (RANK_OFFSET + rank + 1);
      fused.set(match.entryId, { ...(earlier ?? match), score });
    }
  return [...fused.values()].toSorted((a, b) => b.score - a.score || b.entryId - a.entryId);
}
