import type { Database } from "../../../storage/engine/database.ts";
import {
  findDocument,
  listTopicsOfDocuments,
} from "../../../storage/tables/vault/documents/documents.ts";
import { listVisibleTopics } from "../../../storage/tables/vault/documents/topics.ts";
import { type CloudItem, findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import { searchEntries, type SearchFilter } from "../../../storage/tables/vault/search.ts";
import type { VaultCaller } from "../caller.ts";
import type { DocumentDetail } from "../documents/documents.service.ts";
import { toTopicKey } from "../documents/topics.service.ts";
import type { PageRequest } from "../page.ts";
import { parseQuery, type Snippet, toSnippet } from "./query.ts";

export type SearchResult = { readonly snippet: Snippet; readonly score: number } & (
  | { readonly kind: "document"; readonly detail: DocumentDetail }
  | { readonly kind: "item"; readonly item: CloudItem }
);

/** What a search asks for besides its words; times are ISO 8601. */
export interface SearchQuery {
  readonly q: string;
  readonly kind?: "document" | "item" | undefined;
  readonly topic?: string | undefined;
  readonly connection_id?: string | undefined;
  readonly content_type?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Search over the caller's documents and analysed items. Documents that others share with the caller are not searched. */
export interface Search {
  /** Returns one page of matches, best first. A query without words finds nothing. */
  search(
    caller: VaultCaller,
    query: SearchQuery,
    page: PageRequest,
  ): Promise<{ readonly results: readonly SearchResult[]; readonly total: number }>;
}

export function createSearch({ db }: { readonly db: Database }): Search {
  return {
    async search(caller, query, { page, perPage }) {
      const { matches, total } = await searchEntries(
        db,
        parseQuery(query.q),
        await toFilter(caller.userId, query),
        { limit: perPage, offset: (page - 1) * perPage },
      );
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

  async function toFilter(userId: string, query: SearchQuery): Promise<SearchFilter> {
    const key = query.topic === undefined ? undefined : toTopicKey(query.topic);
    const topics = key === undefined ? [] : await listVisibleTopics(db, userId);
    return {
      userId,
      kind: query.kind,
      connectionId: query.connection_id,
      contentType: query.content_type,
      from: query.from === undefined ? undefined : Date.parse(query.from),
      to: query.to === undefined ? undefined : Date.parse(query.to),
      topic:
        key === undefined
          ? undefined
          : { key, names: topics.filter(({ nameKey }) => nameKey === key).map(({ name }) => name) },
    };
  }
}
