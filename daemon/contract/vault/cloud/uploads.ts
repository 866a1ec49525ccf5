import { z } from "zod";
import { endpoint, stream, vaultUser } from "../../endpoint.ts";
import { time, uuid } from "../common.ts";
import { connectionParams, folderRef, itemName, perMinute, refusals } from "./shapes.ts";
import { nameTaken, uploaded } from "./items.ts";

/** Largest size that a client may announce; the setting `max_upload_bytes` is far below. */
const BYTES_MAX = 2 ** 50;

const uploadParams = connectionParams.extend({ upload_id: uuid });

const openUpload = z.object({
  upload_id: uuid,
  /** Bytes that have arrived: the next part begins here. */
  offset: z.int().min(0),
  size: z.int().min(0),
  expires_at: time,
});

export const beginUpload = endpoint({
  name: "vault.cloud.uploads.begin",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/uploads",
  summary:
    "Begin an upload that can be resumed, or find the one of the same file: same place, size and fingerprint",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({
    parent_ref: folderRef.nullish(),
    name: itemName,
    content_type: z.string().max(255).nullish(),
    size: z.int().min(0).max(BYTES_MAX),
    /** Identifies this version of the file, such as a hash of its path and time. */
    fingerprint: z.string().min(1).max(200),
  }),
  replies: { 201: openUpload, 200: nameTaken, ...refusals },
});

export const appendUpload = endpoint({
  name: "vault.cloud.uploads.append",
  method: "PATCH",
  path: "/api/cloud/connections/:connection_id/uploads/:upload_id",
  summary: "Append bytes at Upload-Offset; received bytes are kept when the connection is lost",
  gate: vaultUser,
  limit: perMinute,
  params: uploadParams,
  body: stream("application/octet-stream"),
  replies: { 200: openUpload, ...refusals },
});

export const completeUpload = endpoint({
  name: "vault.cloud.uploads.complete",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/uploads/:upload_id/complete",
  summary: "Compare the hash and store the file under its name; nothing is visible before",
  gate: vaultUser,
  limit: perMinute,
  params: uploadParams,
  body: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  replies: { 200: z.union([uploaded, nameTaken]), ...refusals },
});

export const cancelUpload = endpoint({
  name: "vault.cloud.uploads.cancel",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id/uploads/:upload_id",
  summary: "Discard an upload that is not complete",
  gate: vaultUser,
  limit: perMinute,
  params: uploadParams,
  replies: { 200: z.object({ kind: z.literal("cancelled"), upload_id: uuid }), ...refusals },
  apiOnly: "an upload of the command line that is not resumed expires by itself",
});

/** Uploads in parts. */
export const cloudUploadEndpoints = {
  beginUpload,
  appendUpload,
  completeUpload,
  cancelUpload,
};
