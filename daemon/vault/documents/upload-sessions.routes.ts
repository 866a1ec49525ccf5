import { uploadSessionEndpoints } from "../../contract/vault/upload-sessions.ts";
import type { Route } from "../../http/handle.ts";
import { readPart } from "../cloud/resumable/resumable.view.ts";
import { handle } from "../handle.ts";
import { toDocumentReply } from "./documents.view.ts";
import type {
  SessionAppendResult,
  SessionCompleteResult,
  SessionProgress,
  UploadSessions,
} from "./upload-sessions.service.ts";

/** Routes of documents that are sent in parts. */
export const uploadSessionRoutes = (sessions: UploadSessions): Route[] => [
  handle(uploadSessionEndpoints.beginDocumentUpload, async ({ caller, body }) => ({
    status: 201,
    body: toProgress(await sessions.begin(caller, body)),
  })),
  handle(
    uploadSessionEndpoints.appendDocumentUpload,
    async ({ caller, params, body, request: { headers } }) =>
      toAppendReply(await sessions.append(caller, params.upload_id, readPart(body, headers))),
  ),
  handle(uploadSessionEndpoints.completeDocumentUpload, async ({ caller, params, body }) =>
    toCompleteReply(await sessions.complete(caller, params.upload_id, body.sha256)),
  ),
  handle(uploadSessionEndpoints.cancelDocumentUpload, async ({ caller, params }) => {
    await sessions.cancel(caller, params.upload_id);
    return { status: 204 };
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
    ? toDocumentReply(201, result.detail)
    : ({ status: 409, body: { kind: "conflict", reason: result.kind } } as const);
}
