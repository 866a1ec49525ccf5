import { z } from "zod";
import { resource } from "./resource.ts";
import { perAccount, vaultUser } from "../endpoint.ts";
import { item } from "./cloud/shapes.ts";
import { exactText, oneOf, queryFlag, text, time, uuid } from "./common.ts";
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

/** The search over documents and items. */
export const searchEndpoints = resource(
  {
    name: "vault",
    path: "/api/search",
    shape: result,
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ list }) => ({
    search: list(
      'Search documents and analysed items: words, begin* of words, "phrases"; best first',
      {
        as: "search",
        filters: {
          q: text(1000),
          kind: oneOf(["document", "item"]).optional(),
          topic: text(200).optional(),
          connection_id: uuid.brand<"ConnectionId">().optional(),
          content_type: exactText(200).toLowerCase().optional(),
          from: time.optional(),
          to: time.optional(),
          semantic: queryFlag.default(false),
        },
        refuses: [503],
      },
    ),
  }),
);
