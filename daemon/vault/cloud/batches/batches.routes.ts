import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { serveSome } from "../../handle.ts";
import type { BatchDownloads } from "./batch-downloads.service.ts";
import type { BatchFolders } from "./batch-folders.service.ts";
import type { BatchListings } from "./batch-listings.service.ts";
import type { BatchUploads } from "./batch-uploads.service.ts";
import {
  toCreateFolderBatchAnswer,
  toDownloadBatchAnswer,
  toListBatchAnswer,
  toReplaceBatchAnswer,
  toUploadBatchAnswer,
} from "./batches.view.ts";

/** Routes that carry many files, folders or listings in one request. */
export const batchRoutes = ({
  batchUploads,
  batchDownloads,
  batchListings,
  batchFolders,
}: {
  readonly batchUploads: BatchUploads;
  readonly batchDownloads: BatchDownloads;
  readonly batchListings: BatchListings;
  readonly batchFolders: BatchFolders;
}): Route[] => [
  ...serveSome(cloudItemEndpoints, {
    createFolderBatch: async ({ caller, params, body }) =>
      toCreateFolderBatchAnswer(
        await batchFolders.begin(caller, params.connection_id, body.folders),
      ),
    uploadBatch: async ({ caller, params, body }) =>
      toUploadBatchAnswer(await batchUploads.begin(caller, params.connection_id, body)),
    replaceBatch: async ({ caller, params, body }) =>
      toReplaceBatchAnswer(await batchUploads.beginReplacing(caller, params.connection_id, body)),
    downloadBatch: async ({ caller, params, body }) =>
      toDownloadBatchAnswer(
        await batchDownloads.begin(caller, params.connection_id, body.item_ids),
      ),
    listBatch: async ({ caller, params, body }) => {
      const { parent_refs: parentRefs, refresh } = body;
      const request = { parentRefs, refresh };
      return toListBatchAnswer(await batchListings.begin(caller, params.connection_id, request));
    },
  }),
];
