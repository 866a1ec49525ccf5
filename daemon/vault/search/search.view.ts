import { toItemView } from "../cloud/items/items.view.ts";
import { toDocumentView } from "../documents/documents.view.ts";
import { type PageRequest, toPage } from "../page.ts";
import type { SearchResult } from "./search.service.ts";

/** One page of search results. */
export function toSearchPage(
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
