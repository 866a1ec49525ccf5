import { z } from "zod";
import { resource } from "../resource.ts";
import { stream, vaultUser } from "../../endpoint.ts";
import { exactText, time, uuid } from "../common.ts";
import {
  connectionParams,
  folderRef,
  itemName,
  perMinute,
  refusals,
  removalRefusals,
} from "./shapes.ts";
import { nameTaken, uploaded } from "./items.ts";

/** Largest size that a client may announce; the setting `max_upload_bytes` is far below. */
const BYTES_MAX = 2 ** 50;

const openUpload = z.object({
  upload_id: uuid,
  /** Bytes that have arrived: the next part begins here. */
  offset: z.int().min(0),
  size: z.int().min(0),
  expires_at: time,
});

/** Uploads in parts. */
export const cloudUploadEndpoints = resource(
  {
    name: "vault.cloud.uploads",
    path: "/api/cloud/connections/:connection_id/uploads",
    params: connectionParams,
    id: { upload_id: uuid },
    gate: vaultUser,
    limit: perMinute,
    refuses: [200, 409, 413, 503],
  },
  ({ operation }) => ({
    beginUpload: operation({
      as: "begin",
      method: "POST",
      summary:
        "Begin an upload that can be resumed, or find the one of the same file: same place, size and fingerprint",
      body: z.object({
        parent_ref: folderRef.nullish(),
        name: itemName,
        content_type: exactText(255).nullish(),
        size: z.int().min(0).max(BYTES_MAX),
        /** Identifies this version of the file, such as a hash of its path and time. */
        fingerprint: exactText(200).min(1),
      }),
      replies: { 201: openUpload, 200: nameTaken, ...refusals },
      refusesOnly: [],
    }),
    appendUpload: operation({
      as: "append",
      method: "PATCH",
      item: true,
      summary: "Append bytes at Upload-Offset; received bytes are kept when the connection is lost",
      body: stream("application/octet-stream"),
      replies: { 200: openUpload, ...removalRefusals },
      refusesOnly: [],
    }),
    completeUpload: operation({
      method: "POST",
      item: true,
      at: "complete",
      summary: "Compare the hash and store the file under its name; nothing is visible before",
      body: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
      replies: { 200: z.union([uploaded, nameTaken]), ...removalRefusals },
      refusesOnly: [],
    }),
    cancelUpload: operation({
      as: "cancel",
      method: "DELETE",
      item: true,
      summary: "Discard an upload that is not complete",
      replies: {
        200: z.object({ kind: z.literal("cancelled"), upload_id: uuid }),
        ...removalRefusals,
      },
      refusesOnly: [],
      apiOnly: "an upload of the command line that is not resumed expires by itself",
    }),
  }),
);
