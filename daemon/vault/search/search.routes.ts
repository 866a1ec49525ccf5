import { searchEndpoints } from "../../contract/vault/search.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toPageRequest, type PageRequest, toPage } from "../page.ts";
import type { Search, SearchResult } from "./search.service.ts";
import { toItemView } from "../cloud/items/items.view.ts";
import { toDocumentView } from "../documents/documents.view.ts";

/** The route of `/api/search`. */
export const searchRoutes = (search: Search): Route[] => [
  ...serve(searchEndpoints, {
    search: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toSearchPage(await search.search(caller, query, page), page);
    },
  }),
];

/** One page of search results. */
function toSearchPage(
  { results, total }: { readonly results: readonly SearchResult[]; readonly total: number },
  page: PageRequest,
) {
  return toPage(results.map(toResult), total, page);
}

function toResult(result: SearchResult) {
  const { kind, snippet, score } = result;
  return {
    kind,
    document: kind === "document" ? toDocumentView(result.detail) : null,
    item:
      kind === "item"
        ? { ...toItemView(result.item), connection_id: result.item.connectionId }
        : null,
    snippet: { text: snippet.text, marks: snippet.marks },
    score,
  };
}
