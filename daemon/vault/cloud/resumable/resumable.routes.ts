import { cloudUploadEndpoints } from "../../../contract/vault/cloud/uploads.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { ResumableUploads } from "./resumable.service.ts";
import { readPart, toAppendReply, toBeginReply, toCompleteReply } from "./resumable.view.ts";

/** Routes of uploads in parts. */
export const resumableRoutes = (uploads: ResumableUploads): Route[] => [
  handle(cloudUploadEndpoints.beginUpload, async ({ caller, params, body }) =>
    toBeginReply(await uploads.begin(caller, params.connection_id, body), body.name),
  ),
  handle(cloudUploadEndpoints.appendUpload, async ({ caller, params, body, request }) =>
    toAppendReply(await uploads.append(caller, params, readPart(body, request.headers))),
  ),
  handle(cloudUploadEndpoints.completeUpload, async ({ caller, params, body }) =>
    toCompleteReply(await uploads.complete(caller, params, body.sha256)),
  ),
  handle(cloudUploadEndpoints.cancelUpload, async ({ caller, params }) => {
    await uploads.cancel(caller, params);
    return { status: 200, body: { kind: "cancelled", upload_id: params.upload_id } } as const;
  }),
];
