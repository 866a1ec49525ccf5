import { cloudUploadEndpoints } from "../../../contract/vault/cloud/uploads.ts";
import type { Route } from "../../../http/handle.ts";
import { reply } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { ResumableUploads } from "./resumable.service.ts";
import { readPart, toAppendReply, toBeginReply, toCompleteReply } from "./resumable.view.ts";

/** Routes of uploads in parts. */
export const resumableRoutes = (uploads: ResumableUploads): Route[] => [
  ...serve(cloudUploadEndpoints, {
    beginUpload: async ({ caller, params, body }) =>
      toBeginReply(await uploads.begin(caller, params.connection_id, body), body.name),
    appendUpload: async ({ caller, params, body, request }) =>
      reply(toAppendReply(await uploads.append(caller, params, readPart(body, request.headers)))),
    completeUpload: async ({ caller, params, body }) =>
      reply(toCompleteReply(await uploads.complete(caller, params, body.sha256))),
    cancelUpload: async ({ caller, params }) => {
      await uploads.cancel(caller, params);
      return { kind: "cancelled" as const, upload_id: params.upload_id };
    },
  }),
];
