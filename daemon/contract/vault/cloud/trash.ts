import { z } from "zod";
import { resource } from "../resource.ts";
import { vaultUser } from "../../endpoint.ts";
import { connectionParams, perMinute, refusals, removalRefusals, failure } from "./shapes.ts";
import { detail, time } from "../common.ts";

/** The provider's own id of a deleted item. */
const trashId = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => value.isWellFormed() && !value.includes("\0"), "This is not a trash id");

const trashedItem = z.object({
  trash_id: z.string(),
  name: z.string(),
  /** Null where the provider does not state it. */
  kind: z.enum(["file", "folder"]).nullable(),
  /** The names of the folders that it was in, each with a slash before it; `/` for the root, null when unknown. */
  location: z.string().nullable(),
  size: z.int().min(0).nullable(),
  deleted_at: time.nullable(),
});

const restored = z.object({
  kind: z.literal("restored"),
  provider_item_id: z.string(),
  name: z.string(),
  parent_ref: z.string().nullable(),
});

const emptied = z.object({
  kind: z.literal("emptied"),
  /** How many items were removed permanently; null when the provider does not state it. */
  removed: z.int().min(0).nullable(),
  /** True when more items are left: the request can be repeated. */
  has_more: z.boolean(),
});

/** The trash of a connection. */
export const cloudTrashEndpoints = resource(
  {
    name: "vault.cloud.trash",
    path: "/api/cloud/connections/:connection_id/trash",
    params: connectionParams,
    gate: vaultUser,
    limit: perMinute,
  },
  ({ operation }) => ({
    listTrash: operation({
      as: "list",
      method: "GET",
      summary: "One page of the deleted items that the provider keeps",
      query: z.object({
        /** As `next_cursor` gave it. */
        cursor: z.string().max(8192).optional(),
      }),
      replies: {
        200: z.object({ items: z.array(trashedItem), next_cursor: z.string().nullable() }),
        401: z.union([failure, detail]),
        409: failure,
        422: z.union([failure, detail]),
        503: z.union([failure, detail]),
      },
    }),
    restoreTrashed: operation({
      method: "POST",
      at: "restore",
      summary:
        "Restore a deleted item under its old name in its old folder; nothing is overwritten",
      body: z.object({ trash_id: trashId }),
      replies: { 200: restored, ...refusals },
      refusesOnly: [],
    }),
    emptyTrash: operation({
      as: "empty",
      method: "DELETE",
      summary: "Remove deleted items permanently, as many as one request can; it can be repeated",
      replies: { 200: emptied, ...removalRefusals },
      refusesOnly: [],
    }),
  }),
);
