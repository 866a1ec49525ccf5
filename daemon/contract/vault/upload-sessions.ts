import { z } from "zod";
import { empty, perAccount, stream, vaultUser } from "../endpoint.ts";
import { detail, exactText, time, uuid } from "./common.ts";
import { document, filename } from "./documents.ts";
import { resource } from "./resource.ts";

/** Largest size that a client may announce; the setting `max_upload_bytes` is far below. */
const BYTES_MAX = 2 ** 50;
/** A file of 4 GiB has 512 parts. */
const PARTS_PER_MINUTE = 600;

const progress = z.object({
  upload_id: uuid,
  /** Bytes that have arrived: the next part begins here. */
  offset: z.int().min(0),
  size: z.int().min(0),
  expires_at: time,
});

const conflictOf = <const R extends string>(...reasons: readonly R[]) =>
  z.object({ kind: z.literal("conflict"), reason: z.enum(reasons) });

/** Documents that are sent in parts. */
export const uploadSessionEndpoints = resource(
  {
    name: "vault.documents.uploads",
    path: "/api/documents/upload-sessions",
    id: { upload_id: uuid.brand<"DocumentId">() },
    shape: progress,
    gate: vaultUser,
    limit: perAccount(100, 60),
  },
  ({ create, operation }) => ({
    beginDocumentUpload: create(
      "Begin an upload of a document that can be resumed, or find the one of the same file: same name, size and fingerprint",
      z.object({
        filename,
        content_type: exactText(200).nullish(),
        size: z.int().min(0).max(BYTES_MAX),
        /** Identifies this version of the file, such as a hash of its path and time. */
        fingerprint: exactText(200).min(1),
      }),
      { as: "begin", refuses: [413] },
    ),
    appendDocumentUpload: operation({
      as: "append",
      method: "PATCH",
      item: true,
      limit: perAccount(PARTS_PER_MINUTE, 60),
      summary: "Append bytes at Upload-Offset; received bytes are kept when the connection is lost",
      body: stream("application/octet-stream"),
      replies: { 200: progress, 409: conflictOf("offset_mismatch") },
      refuses: [507],
    }),
    completeDocumentUpload: operation({
      as: "complete",
      method: "POST",
      item: true,
      at: "complete",
      summary:
        "Compare the hash, make the document and book its quota; its id is that of the upload",
      body: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
      replies: {
        201: document,
        409: z.union([conflictOf("incomplete", "hash_mismatch"), detail]),
      },
      refuses: [413, 502, 503],
    }),
    cancelDocumentUpload: operation({
      as: "cancel",
      method: "DELETE",
      item: true,
      summary: "Discard an upload that is not complete",
      replies: { 204: empty },
      apiOnly: "an upload of the command line that is not resumed expires by itself",
    }),
  }),
);
