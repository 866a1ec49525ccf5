import { z } from "zod";
import { resource } from "../resource.ts";
import { bytes, bytesOf, fileParts, multipart, stream, vaultUser } from "../../endpoint.ts";
import {
  connectionParams,
  detailPerMinute,
  folderRef,
  itemDetail,
  itemName,
  itemParams,
  listing,
  perMinute,
  refusals,
  removalRefusals,
} from "./shapes.ts";
import { detail, exactText, queryFlag, queryInteger, uuid } from "../common.ts";

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

/** Most folders of one batch of new folders. */
const BATCH_NEW_FOLDERS_MAX = 100;

/** Bounds of one batch; each counts as one request of the limit. */
const BATCH_FILES_MAX = 1_000;
export const BATCH_BYTES_MAX = 1024 ** 3;

/** Most folders of one batch of listings, and most items of each; the rest of a folder comes by its cursor. */
const BATCH_FOLDERS_MAX = 100;
export const BATCH_ITEMS_MAX = 1_000;

/** Operations on items, in the order of the document. */
export const cloudItemEndpoints = resource(
  {
    name: "vault.cloud.items",
    path: "/api/cloud/connections/:connection_id",
    gate: vaultUser,
  },
  ({ operation }) => ({
    listItems: operation({
      as: "list",
      method: "GET",
      at: "items",
      summary:
        "One page of a folder: folders first, then by name; refreshed from the provider when stale",
      params: connectionParams,
      query: z.object({
        parent_ref: folderRef.default(""),
        /** As `next_cursor` gave it. */
        cursor: exactText(8192).optional(),
        limit: queryInteger(1, 1000, 100),
        refresh: queryFlag.default(false),
        /** Only items with exactly this name: one, or several if the provider allows duplicate names. */
        name: exactText(1024).optional(),
      }),
      replies: { 200: listing },
      limit: perMinute,
    }),
    openItem: operation({
      method: "GET",
      at: "items/**:item_id/open",
      summary: "The address of the item's bytes",
      params: itemParams,
      replies: { 200: opened },
      limit: perMinute,
    }),
    getItemDetail: operation({
      as: "view",
      method: "GET",
      at: "items/**:item_id/detail",
      summary: "The recorded details of an item, without a request to the provider",
      params: itemParams,
      replies: { 200: itemDetail },
      limit: detailPerMinute,
    }),
    previewItem: operation({
      method: "GET",
      at: "items/**:item_id/preview",
      summary: "The bytes for showing in place; a typed body where that is not possible",
      params: itemParams,
      replies: { 200: bytes },
      limit: perMinute,
      apiOnly:
        "pages show it in place; the command line writes the same bytes with cat and download",
    }),
    downloadItem: operation({
      method: "GET",
      at: "items/**:item_id/download",
      summary: "Download an item; ranges and conditional requests are supported",
      params: itemParams,
      replies: { 200: bytes, 503: detail.extend({ reason: z.literal("not_found").optional() }) },
      limit: perMinute,
    }),
    createFolder: operation({
      as: "mkdir",
      method: "POST",
      at: "folders",
      summary: "Create a folder; a taken name gets a counter",
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
      limit: perMinute,
      refusesOnly: [],
    }),
    createFolderBatch: operation({
      as: "mkdir_batch",
      method: "POST",
      at: "folders/batch",
      summary:
        "Create up to 100 folders, several at a time, each in parent_ref or in the folder at parent_index of this request; existing ones are kept; answers one line a folder, in order",
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
      replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
      limit: perMinute,
      refusesOnly: [],
      maxBodyBytes: 2 * 1024 ** 2,
    }),
    renameItem: operation({
      method: "PATCH",
      at: "items/**:item_id/rename",
      summary: "Rename an item; without an etag the recorded one is the precondition",
      params: itemParams,
      body: z.object({ new_name: itemName, etag: z.string().max(1024).nullish() }),
      replies: { 200: renamed, ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    moveItem: operation({
      method: "POST",
      at: "items/**:item_id/move",
      summary: "Move an item to another folder of the same connection",
      params: itemParams,
      body: z.object({
        destination_parent_ref: folderRef,
        /** Empty counts as absent. */
        destination_connection_id: z.union([uuid.brand<"ConnectionId">(), z.literal("")]).nullish(),
        etag: z.string().max(1024).nullish(),
      }),
      replies: { 200: moved, ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    deleteItem: operation({
      as: "delete",
      method: "DELETE",
      at: "items/**:item_id",
      summary:
        "Delete an item at once, into the provider's trash where it has one; If-Match may have the etag that it must still have",
      params: itemParams,
      replies: { 200: deleted, ...removalRefusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    uploadItem: operation({
      method: "POST",
      at: "items/upload",
      summary: "Upload a file as a form: file, parent_ref, filename; nothing is ever overwritten",
      params: connectionParams,
      body: multipart(
        z.object({ parent_ref: folderRef.optional(), filename: z.string().max(4096).optional() }),
      ),
      replies: { 200: z.union([uploaded, nameTaken]), ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    replaceContent: operation({
      as: "replace",
      method: "PUT",
      at: "items/**:item_id/content",
      summary:
        "Replace the bytes of a file; If-Match has the etag of the replaced version, or * for any",
      params: itemParams,
      body: stream("application/octet-stream"),
      replies: { 200: uploaded, 428: detail, ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    uploadBatch: operation({
      as: "upload_batch",
      method: "POST",
      at: "items/batch",
      summary:
        "Upload up to 1,000 files and 1 GiB as a form: the name of each part is its parent_ref, filename its name; answers one line a file as it ends",
      params: connectionParams,
      body: fileParts({ filesMax: BATCH_FILES_MAX, bytesMax: BATCH_BYTES_MAX }),
      replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    replaceBatch: operation({
      as: "replace_batch",
      method: "PUT",
      at: "items/batch",
      summary:
        "Replace the bytes of up to 1,000 files, 1 GiB together, as a form: the name of each part is the id of a file, its filename the percent-encoded etag of the replaced version, or *; answers one line a file as it ends",
      params: connectionParams,
      body: fileParts({ filesMax: BATCH_FILES_MAX, bytesMax: BATCH_BYTES_MAX }),
      replies: { 200: bytesOf("application/x-ndjson"), ...refusals },
      limit: perMinute,
      refusesOnly: [],
    }),
    downloadBatch: operation({
      as: "download_batch",
      method: "POST",
      at: "items/batch-download",
      summary:
        "Download up to 1,000 files and 1 GiB as a tar archive; its last entry, croft-outcomes.ndjson, has one line an item",
      params: connectionParams,
      body: z.object({ item_ids: z.array(itemParams.shape.item_id).min(1).max(BATCH_FILES_MAX) }),
      replies: { 200: bytesOf("application/x-tar") },
      limit: perMinute,
      refuses: [413],
      onlyReads: true,
      maxBodyBytes: 8 * 1024 ** 2,
    }),
    listBatch: operation({
      as: "list_batch",
      method: "POST",
      at: "items/batch-list",
      summary:
        "List up to 100 folders, the first 1,000 items of each; answers one line a folder as it ends, with the status of a single request",
      params: connectionParams,
      body: z.object({
        parent_refs: z.array(folderRef).min(1).max(BATCH_FOLDERS_MAX),
        refresh: z.boolean().default(false),
      }),
      replies: { 200: bytesOf("application/x-ndjson") },
      limit: perMinute,
      onlyReads: true,
      maxBodyBytes: 2 * 1024 ** 2,
    }),
    analyzeItem: operation({
      method: "POST",
      at: "items/**:item_id/analyze",
      summary: "Extract the text of an item and classify it, in the background",
      params: itemParams,
      replies: {
        202: z.object({ provider_item_id: z.string(), analysis_status: z.literal("pending") }),
      },
      limit: perMinute,
    }),
  }),
);
