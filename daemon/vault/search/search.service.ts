import type { Database } from "../../../storage/engine/database.ts";
import {
  findDocument,
  listTopicsOfDocuments,
} from "../../../storage/tables/vault/documents/documents.ts";
import { type CloudItem, findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import {
  searchEntries,
  type SearchFilter,
  type SearchMatch,
} from "../../../storage/tables/vault/search.ts";
import type { VaultCaller } from "../caller.ts";
import type { DocumentDetail } from "../documents/documents.service.ts";
import { toTopicKey } from "../documents/topics.service.ts";
import type { PageRequest } from "../page.ts";
import { fuseRanks, type SemanticSearch } from "./semantic-search.ts";
import { parseQuery, type Snippet, toSnippet } from "../documents/query.ts";
import type { AccountId, ConnectionId } from "../../../storage/tables/vault/ids.ts";

export type SearchResult = { readonly snippet: Snippet; readonly score: number } & (
  | { readonly kind: "document"; readonly detail: DocumentDetail }
  | { readonly kind: "item"; readonly item: CloudItem }
);

/** The filters of a search; times are ISO 8601. */
export interface SearchQuery {
  readonly q: string;
  readonly kind?: "document" | "item" | undefined;
  readonly topic?: string | undefined;
  readonly connection_id?: ConnectionId | undefined;
  readonly content_type?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Adds texts that are near in meaning, and orders by both. */
  readonly semantic?: boolean | undefined;
}

export type Search = ReturnType<typeof createSearch>;

/** Matches of words that a semantic search takes into account. */
const FUSED_MATCHES_MAX = 200;

/** Search over the caller's documents and analysed items. Documents that others share with the caller are not searched. */
export function createSearch({
  db,
  semantic,
}: {
  readonly db: Database;
  readonly semantic: SemanticSearch;
}) {
  return {
    /** Returns one page of matches, best first. A query without words finds nothing. */
    async search(
      caller: VaultCaller,
      query: SearchQuery,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly results: readonly SearchResult[]; readonly total: number }> {
      const window = { limit: perPage, offset: (page - 1) * perPage };
      const filter = toFilter(caller.userId, query);
      const { matches, total } =
        query.semantic === true
          ? await findFused(query.q, filter, window)
          : await searchEntries(db, parseQuery(query.q), filter, window);
      const ids = matches.flatMap(({ documentId }) => documentId ?? []);
      const topics = await listTopicsOfDocuments(db, ids);
      const results = await Promise.all(
        matches.map(async (match): Promise<SearchResult | undefined> => {
          const found = { snippet: toSnippet(match.passage), score: match.score };
          if (match.documentId !== undefined) {
            const document = await findDocument(db, match.documentId);
            const detail = document && { document, topics: topics.get(document.id) ?? [] };
            return detail && { ...found, kind: "document", detail };
          }
          const item = match.itemId && (await findLiveItemByRow(db, match.itemId));
          return item ? { ...found, kind: "item", item } : undefined;
        }),
      );
      return { results: results.filter((result) => result !== undefined), total };
    },
  };

  /** Finds by words and by meaning. */
  async function findFused(
    q: string,
    filter: SearchFilter,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly matches: readonly SearchMatch[]; readonly total: number }> {
    const terms = parseQuery(q);
    if (terms.length === 0) return { matches: [], total: 0 };
    const near = await semantic.find(q, filter);
    const byWords = await searchEntries(db, terms, filter, { limit: FUSED_MATCHES_MAX, offset: 0 });
    const fused = fuseRanks(byWords.matches, near);
    return { matches: fused.slice(offset, offset + limit), total: fused.length };
  }
}

function toFilter(userId: AccountId, query: SearchQuery): SearchFilter {
  return {
    userId,
    kind: query.kind,
    connectionId: query.connection_id,
    contentType: query.content_type,
    from: query.from === undefined ? undefined : Date.parse(query.from),
    to: query.to === undefined ? undefined : Date.parse(query.to),
    topicKey: query.topic === undefined ? undefined : toTopicKey(query.topic),
  };
}
