import { z } from "zod";
import { endpoint, perAccount, vaultUser } from "../endpoint.ts";
import { item } from "./cloud/shapes.ts";
import { detail, oneOf, pageOf, paging, queryFlag, text, time, uuid } from "./common.ts";
import { document } from "./documents.ts";

/** A passage of plain text and the parts of it that matched, as UTF-16 offsets. */
const snippet = z.object({
  text: z.string(),
  marks: z.array(z.tuple([z.int().min(0), z.int().min(0)])),
});

const result = z.object({
  kind: z.enum(["document", "item"]),
  document: document.omit({ extracted_text: true }).nullable(),
  /** An analysed item of connected storage, with the connection that holds it. */
  item: item.extend({ connection_id: uuid }).nullable(),
  snippet,
  /** Higher is better; scores of different queries cannot be compared. */
  score: z.number(),
});

export const search = endpoint({
  name: "vault.search",
  method: "GET",
  path: "/api/search",
  summary: 'Search documents and analysed items: words, begin* of words, "phrases"; best first',
  gate: vaultUser,
  limit: perAccount(100, 60),
  query: z.object({
    q: text(1000),
    kind: oneOf(["document", "item"]).optional(),
    topic: text(200).optional(),
    connection_id: uuid.brand<"ConnectionId">().optional(),
    content_type: z.string().max(200).toLowerCase().optional(),
    from: time.optional(),
    to: time.optional(),
    semantic: queryFlag.default(false),
    ...paging,
  }),
  replies: {
    200: pageOf(result),
    401: detail,
    403: detail,
    422: detail,
    429: detail,
    503: detail,
  },
});

/** The search over documents and items. */
export const searchEndpoints = { search };
