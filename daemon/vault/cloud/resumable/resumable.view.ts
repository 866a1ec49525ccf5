import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { toUploadReply } from "../changes/changes.view.ts";
import type {
  AppendResult,
  BeginResult,
  CompleteResult,
  UploadProgress,
} from "./resumable.service.ts";

function toProgress({ upload, offset }: UploadProgress) {
  return {
    upload_id: upload.id,
    offset,
    size: upload.size,
    expires_at: new Date(upload.expiresAt).toISOString(),
  };
}

export function toBeginReply(result: BeginResult, name: string) {
  if (result.kind === "open") return { status: 201, body: toProgress(result) } as const;
  const existing = result.existingName ?? name;
  return {
    status: 200,
    body: { kind: "conflict", reason: "name_collision", existing_name: existing },
  } as const;
}

/** The body of an append request: `Upload-Offset` is the position of its first byte. */
export function readPart(content: Readable, headers: IncomingHttpHeaders) {
  const text = headers["upload-offset"];
  const isNumber = typeof text === "string" && /^\d{1,16}$/.test(text);
  return { offset: isNumber ? Number(text) : undefined, content };
}

export function toAppendReply(result: AppendResult) {
  return result.kind === "open"
    ? ({ status: 200, body: toProgress(result) } as const)
    : ({ status: 409, body: { kind: "conflict", reason: "offset_mismatch" } } as const);
}

export function toCompleteReply(result: CompleteResult) {
  if (result.kind === "incomplete")
    return { status: 409, body: { kind: "conflict", reason: "incomplete" } } as const;
  if (result.kind === "hash_mismatch")
    return { status: 409, body: { kind: "conflict", reason: "hash_mismatch" } } as const;
  return toUploadReply(result, "");
}
