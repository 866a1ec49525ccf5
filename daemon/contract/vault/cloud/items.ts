import { z } from "zod";
import {
  bytes,
  bytesOf,
  endpoint,
  fileParts,
  multipart,
  stream,
  vaultUser,
} from "../../endpoint.ts";
import {
  connectionParams,
  detailPerMinute,
  folderRef,
  itemDetail,
  itemName,
  itemParams,
  listing,
  lookRefusals,
  perMinute,
  refusals,
} from "./shapes.ts";
import { detail, queryFlag, queryInteger, uuid } from "../common.ts";

const opened = z.object({
  kind: z.literal("open"),
  url: z.string(),
  reason: z.literal("authorized"),
});
const createdFolder = z.object({
  kind: z.literal("folder"),
  provider_item_id: z.string(),
  name: z.string(),
  parent_ref: z.string().nullable(),
});
const renamed = z.object({
  kind: z.literal("renamed"),
  provider_item_id: z.string(),
  name: z.string(),
});
const moved = z.object({
  kind: z.literal("moved"),
  provider_item_id: z.string(),
  parent_ref: z.string(),
});
const deleted = z.object({
  kind: z.literal("deleted"),
  reason: z.enum(["trashed", "permanent"]),
  provider_item_id: z.string(),
  item_kind: z.enum(["file", "folder"]),
  is_folder: z.boolean(),
});
export const uploaded = z.object({
  kind: z.literal("uploaded"),
  provider_item_id: z.string(),
  name: z.string(),
  parent_ref: z.string().nullable(),
  size: z.int().min(0),
});
export const nameTaken = z.object({
  kind: z.literal("conflict"),
  reason: z.literal("name_collision"),
  existing_name: z.string(),
});

export const listItems = endpoint({
  name: "vault.cloud.items.list",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items",
  summary:
    "One page of a folder: folders first, then by name; refreshed from the provider when stale",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  query: z.object({
    parent_ref: folderRef.default(""),
    /** As `next_cursor` gave it. */
    cursor: z.string().max(8192).optional(),
    limit: queryInteger(1, 1000, 100),
    refresh: queryFlag.default(false),
    /** Only items with exactly this name: one, or several if the provider allows duplicate names. */
    name: z.string().max(1024).optional(),
  }),
  replies: { 200: listing, ...lookRefusals },
});

export const openItem = endpoint({
  name: "vault.cloud.items.open",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/open",
  summary: "The address of the item's bytes",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: opened, ...lookRefusals },
});

export const getItemDetail = endpoint({
  name: "vault.cloud.items.view",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/detail",
  summary: "The recorded details of an item, without a request to the provider",
  gate: vaultUser,
  limit: detailPerMinute,
  params: itemParams,
  replies: { 200: itemDetail, ...lookRefusals },
});

export const previewItem = endpoint({
  name: "vault.cloud.items.preview",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/preview",
  summary: "The bytes for showing in place; a typed body where that is not possible",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: bytes, ...lookRefusals },
  apiOnly: "pages show it in place; the command line writes the same bytes with cat and download",
});

export const downloadItem = endpoint({
  name: "vault.cloud.items.download",
  method: "GET",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/download",
  summary: "Download an item; ranges and conditional requests are supported",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: {
    200: bytes,
    ...lookRefusals,
    /** `reason` is `not_found`, as the header `X-Croft-Reason`, where the provider has no such file. */
    503: detail.extend({ reason: z.literal("not_found").optional() }),
  },
});

export const createFolder = endpoint({
  name: "vault.cloud.items.mkdir",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/folders",
  summary: "Create a folder; a taken name gets a counter",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ parent_ref: folderRef.nullish(), name: itemName }),
  replies: {
    201: z.union([
      createdFolder,
      z.object({
        kind: z.literal("unsupported_operation"),
        reason: z.literal("provider_unsupported"),
      }),
    ]),
    ...refusals,
  },
});

/** Most folders of one batch of new folders. */
export const BATCH_NEW_FOLDERS_MAX = 100;

export const createFolderBatch = endpoint({
  name: "vault.cloud.items.mkdir_batch",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/folders/batch",
  summary:
    "Create up to 100 folders, several at a time, each in parent_ref or in the folder at parent_index of this request; existing ones are kept; answers one line a folder, in order",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({
    folders: z
      .array(
        z.object({
          parent_ref: folderRef.nullish(),
          /** The position of an earlier folder of the same request. */
          parent_index: z
            .int()
            .min(0)
            .max(BATCH_NEW_FOLDERS_MAX - 1)
            .nullish(),
          /** Validated for each folder, so that an invalid one does not refuse the others. */
          name: z.string().max(4096),
        }),
      )
      .min(1)
      .max(BATCH_NEW_FOLDERS_MAX),
  }),
  maxBodyBytes: 2 * 1024 ** 2,
  replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
});

export const renameItem = endpoint({
  name: "vault.cloud.items.rename",
  method: "PATCH",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/rename",
  summary: "Rename an item; without an etag the recorded one is the precondition",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  body: z.object({ new_name: itemName, etag: z.string().max(1024).nullish() }),
  replies: { 200: renamed, ...refusals },
});

export const moveItem = endpoint({
  name: "vault.cloud.items.move",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/move",
  summary: "Move an item to another folder of the same connection",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  body: z.object({
    destination_parent_ref: folderRef,
    /** Empty counts as absent. */
    destination_connection_id: z.union([uuid.brand<"ConnectionId">(), z.literal("")]).nullish(),
    etag: z.string().max(1024).nullish(),
  }),
  replies: { 200: moved, ...refusals },
});

export const deleteItem = endpoint({
  name: "vault.cloud.items.delete",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id/items/**:item_id",
  summary:
    "Delete an item at once, into the provider's trash where it has one; If-Match may have the etag that it must still have",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: { 200: deleted, ...refusals },
});

export const uploadItem = endpoint({
  name: "vault.cloud.items.upload",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/upload",
  summary: "Upload a file as a form: file, parent_ref, filename; nothing is ever overwritten",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: multipart(
    z.object({ parent_ref: folderRef.optional(), filename: z.string().max(4096).optional() }),
  ),
  replies: { 200: z.union([uploaded, nameTaken]), ...refusals },
});

export const replaceContent = endpoint({
  name: "vault.cloud.items.replace",
  method: "PUT",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/content",
  summary:
    "Replace the bytes of a file; If-Match has the etag of the replaced version, or * for any",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  body: stream("application/octet-stream"),
  replies: { 200: uploaded, 428: detail, ...refusals },
});

/** Bounds of one batch; each counts as one request of the limit. */
export const BATCH_FILES_MAX = 1_000;
export const BATCH_BYTES_MAX = 1024 ** 3;

export const uploadBatch = endpoint({
  name: "vault.cloud.items.upload_batch",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/batch",
  summary:
    "Upload up to 1,000 files and 1 GiB as a form: the name of each part is its parent_ref, filename its name; answers one line a file as it ends",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: fileParts({ filesMax: BATCH_FILES_MAX, bytesMax: BATCH_BYTES_MAX }),
  replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
});

export const replaceBatch = endpoint({
  name: "vault.cloud.items.replace_batch",
  method: "PUT",
  path: "/api/cloud/connections/:connection_id/items/batch",
  summary:
    "Replace the bytes of up to 1,000 files, 1 GiB together, as a form: the name of each part is the id of a file, its filename the percent-encoded etag of the replaced version, or *; answers one line a file as it ends",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: fileParts({ filesMax: BATCH_FILES_MAX, bytesMax: BATCH_BYTES_MAX }),
  replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
});

export const downloadBatch = endpoint({
  name: "vault.cloud.items.download_batch",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/batch-download",
  summary:
    "Download up to 1,000 files and 1 GiB as a tar archive; its last entry, croft-outcomes.ndjson, has one line an item",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ item_ids: z.array(itemParams.shape.item_id).min(1).max(BATCH_FILES_MAX) }),
  onlyReads: true,
  maxBodyBytes: 8 * 1024 ** 2,
  replies: { 200: bytesOf("application/x-tar"), ...lookRefusals, 413: detail },
});

/** Most folders of one batch of listings, and most items of each; the rest of a folder comes by its cursor. */
export const BATCH_FOLDERS_MAX = 100;
export const BATCH_ITEMS_MAX = 1_000;

export const listBatch = endpoint({
  name: "vault.cloud.items.list_batch",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/batch-list",
  summary:
    "List up to 100 folders, the first 1,000 items of each; answers one line a folder as it ends, with the status of a single request",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({
    parent_refs: z.array(folderRef).min(1).max(BATCH_FOLDERS_MAX),
    refresh: z.boolean().default(false),
  }),
  onlyReads: true,
  maxBodyBytes: 2 * 1024 ** 2,
  replies: { 200: bytesOf("application/x-ndjson"), ...lookRefusals },
});

export const analyzeItem = endpoint({
  name: "vault.cloud.items.analyze",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/items/**:item_id/analyze",
  summary: "Extract the text of an item and classify it, in the background",
  gate: vaultUser,
  limit: perMinute,
  params: itemParams,
  replies: {
    202: z.object({ provider_item_id: z.string(), analysis_status: z.literal("pending") }),
    ...lookRefusals,
  },
});

/** Operations on items, in the order of the document. */
export const cloudItemEndpoints = {
  listItems,
  openItem,
  getItemDetail,
  previewItem,
  downloadItem,
  createFolder,
  createFolderBatch,
  renameItem,
  moveItem,
  deleteItem,
  uploadItem,
  replaceContent,
  uploadBatch,
  replaceBatch,
  downloadBatch,
  listBatch,
  analyzeItem,
};
