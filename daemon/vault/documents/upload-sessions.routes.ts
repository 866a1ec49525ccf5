import { uploadSessionEndpoints } from "../../contract/vault/upload-sessions.ts";
import type { Route } from "../../http/handle.ts";
import { reply } from "../../http/serve.ts";
import { readPart } from "../cloud/resumable/resumable.view.ts";
import { serve } from "../handle.ts";
import { toOwnDocumentView } from "./documents.view.ts";
import type {
  SessionAppendResult,
  SessionCompleteResult,
  SessionProgress,
  UploadSessions,
} from "./upload-sessions.service.ts";

/** Routes of documents that are sent in parts. */
export const uploadSessionRoutes = (sessions: UploadSessions): Route[] => [
  ...serve(uploadSessionEndpoints, {
    beginDocumentUpload: async ({ caller, body }) => toProgress(await sessions.begin(caller, body)),
    appendDocumentUpload: async ({ caller, params, body, request: { headers } }) =>
      reply(
        toAppendReply(await sessions.append(caller, params.upload_id, readPart(body, headers))),
      ),
    completeDocumentUpload: async ({ caller, params, body }) =>
      reply(toCompleteReply(await sessions.complete(caller, params.upload_id, body.sha256))),
    cancelDocumentUpload: ({ caller, params }) => sessions.cancel(caller, params.upload_id),
  }),
];

function toProgress({ session, offset }: SessionProgress) {
  return {
    upload_id: session.id,
    offset,
    size: session.sizeBytes,
    expires_at: new Date(session.expiresAt).toISOString(),
  };
}

function toAppendReply(result: SessionAppendResult) {
  return result.kind === "open"
    ? ({ status: 200, body: toProgress(result) } as const)
    : ({ status: 409, body: { kind: "conflict", reason: result.kind } } as const);
}

function toCompleteReply(result: SessionCompleteResult) {
  return result.kind === "created"
    ? ({ status: 201, body: toOwnDocumentView(result.detail) } as const)
    : ({ status: 409, body: { kind: "conflict", reason: result.kind } } as const);
}
