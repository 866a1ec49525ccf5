import { z } from "zod";
import { endpoint, vaultUser } from "../../endpoint.ts";
import { connectionParams, lookRefusals, perMinute, refusals, failure } from "./shapes.ts";
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

export const listTrash = endpoint({
  name: "vault.cloud.trash.list",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/trash",
  summary: "One page of the deleted items that the provider keeps",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  query: z.object({
    /** As `next_cursor` gave it. */
    cursor: z.string().max(8192).optional(),
  }),
  replies: {
    200: z.object({ items: z.array(trashedItem), next_cursor: z.string().nullable() }),
    ...lookRefusals,
    401: z.union([failure, detail]),
    409: failure,
    422: z.union([failure, detail]),
    503: z.union([failure, detail]),
  },
});

export const restoreTrashed = endpoint({
  name: "vault.cloud.trash.restore",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/trash/restore",
  summary: "Restore a deleted item under its old name in its old folder; nothing is overwritten",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ trash_id: trashId }),
  replies: { 200: restored, ...refusals },
});

export const emptyTrash = endpoint({
  name: "vault.cloud.trash.empty",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id/trash",
  summary: "Remove deleted items permanently, as many as one request can; it can be repeated",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: emptied, ...refusals },
});

/** The trash of a connection. */
export const cloudTrashEndpoints = { listTrash, restoreTrashed, emptyTrash };
