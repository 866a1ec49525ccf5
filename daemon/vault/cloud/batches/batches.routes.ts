import { downloadBatch, replaceBatch, uploadBatch } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { BatchDownloads } from "./batch-downloads.service.ts";
import type { BatchUploads } from "./batch-uploads.service.ts";
import {
  toDownloadBatchAnswer,
  toReplaceBatchAnswer,
  toUploadBatchAnswer,
} from "./batches.view.ts";

/** Routes that carry many files in one request. */
export const batchRoutes = ({
  batchUploads,
  batchDownloads,
}: {
  readonly batchUploads: BatchUploads;
  readonly batchDownloads: BatchDownloads;
}): Route[] => [
  handle(uploadBatch, async ({ caller, params, body }) =>
    toUploadBatchAnswer(await batchUploads.begin(caller, params.connection_id, body)),
  ),
  handle(replaceBatch, async ({ caller, params, body }) =>
    toReplaceBatchAnswer(await batchUploads.beginReplacing(caller, params.connection_id, body)),
  ),
  handle(downloadBatch, async ({ caller, params, body }) =>
    toDownloadBatchAnswer(await batchDownloads.begin(caller, params.connection_id, body.item_ids)),
  ),
];
