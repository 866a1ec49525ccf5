import { z } from "zod";
import { resource } from "./resource.ts";
import { isMediaType } from "../media-type.ts";
import {
  bytes,
  empty,
  multipart,
  perAccount,
  perAddress,
  stream,
  uploadAddress,
  vaultUser,
} from "../endpoint.ts";
import {
  detail,
  exactText,
  line,
  oneOf,
  pageOf,
  paging,
  queryFlag,
  text,
  time,
  uuid,
} from "./common.ts";

const perMinute = perAccount(100, 60);
const documentParams = z.object({ document_id: uuid.brand<"DocumentId">() });

/** A file name: one line of 1 to 255 bytes without slashes; not `.` or `..`. */
export const filename = line(255)
  .refine((name) => name.length > 0, "A file name must not be empty")
  .refine((name) => !/[/\\]/.test(name), "A file name must not contain slashes")
  .refine((name) => name !== "." && name !== "..", "A file name must not be . or ..")
  .refine(
    (name) => new TextEncoder().encode(name).byteLength <= FILENAME_BYTES_MAX,
    "A file name is at most 255 bytes",
  );
const FILENAME_BYTES_MAX = 255;

/** A media type such as `text/plain; charset=utf-8`. */
const contentType = z
  .string()
  .max(200)
  .refine((text) => isMediaType(text), "Not a media type");

const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, "A SHA-256 is 64 hexadecimal digits")
  .toLowerCase();

const status = z.enum(["pending", "processing", "ready", "classification_failed"]);

/** A document as its owner sees it, and without `extracted_text` as a recipient sees it. */
export const document = z.object({
  id: uuid,
  filename: z.string(),
  content_type: z.string(),
  size_bytes: z.int().min(0),
  sha256: z.string(),
  status,
  /** Why the text, or with an `extracted_text` a part of it, is missing; null when nothing is missing. */
  status_reason: z.string().nullable(),
  storage_backend: z.string(),
  semantic_index_status: z.enum(["none", "pending", "ready", "failed", "stale"]),
  topics: z.array(z.string()),
  extracted_text: z.string().nullable().optional(),
  classification: z
    .object({
      topic: z.string(),
      confidence: z.number(),
      provider: z.string(),
      /** The words that decided the classification, if the classifier reports them. */
      words: z.array(z.string()),
    })
    .nullable(),
  created_at: time,
  updated_at: time,
});

/** A row of a list: without the text, with the matching passage of a search. */
const listedDocument = document
  .omit({ extracted_text: true })
  .extend({ snippet: z.string().nullable() });

/** A document in the trash. */
const trashedDocument = document.omit({ extracted_text: true }).extend({
  deleted_at: time,
  /** When it is deleted permanently. */
  expires_at: time,
});

/** The present content of a document, or an earlier one. */
const version = z.object({
  number: z.int().min(1),
  is_current: z.boolean(),
  content_type: z.string(),
  size_bytes: z.int().min(0),
  sha256: z.string(),
  created_at: time,
});

const disposition = oneOf(["inline", "attachment"]).default("attachment");

const versionParams = documentParams.extend({
  number: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
});

/** An event of a document, of one of its shares or links. */
const documentEvent = z.object({
  id: z.int(),
  event_type: z.string(),
  /** Null for an account that was deleted. */
  actor_handle: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
});

/** Operations on documents, in the order of the document. */
export const documentEndpoints = {
  ...resource(
    {
      name: "vault.documents",
      path: "/api/documents/upload-url",
      shape: z.object({
        document_id: uuid,
        upload_url: z.string(),
        method: z.literal("PUT"),
        headers: z.record(z.string(), z.string()),
        expires_at: time,
      }),
      gate: vaultUser,
      limit: perMinute,
    },
    ({ create }) => ({
      createUploadAddress: create(
        "Create a signed address for one upload of exactly the given size, valid for 15 minutes",
        z.object({
          filename,
          content_type: contentType,
          size_bytes: z.int().min(0),
          sha256: sha256.nullish(),
        }),
        {
          as: "upload_address",
          refuses: [413],
          apiOnly:
            "for clients that send the bytes without a token; the command line uploads in one request",
        },
      ),
    }),
  ),
  ...resource(
    {
      name: "vault.documents",
      path: "/api/documents/uploads/:ticket",
      params: z.object({ ticket: z.string().regex(/^[\w-]{43}$/) }),
      gate: uploadAddress,
      limit: perAddress(100, 60),
    },
    ({ operation }) => ({
      putUpload: operation({
        as: "put_upload",
        method: "PUT",
        summary: "Send the bytes to a signed upload address",
        body: stream("*/*"),
        replies: { 204: empty },
        refuses: [409, 413],
        apiOnly: "the address carries its own permission",
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.documents",
      path: "/api/documents/:document_id/confirm",
      params: documentParams,
      gate: vaultUser,
      limit: perMinute,
    },
    ({ operation }) => ({
      confirmUpload: operation({
        as: "confirm",
        method: "POST",
        summary: "Make a document of an upload whose bytes have arrived, and book its quota",
        replies: { 200: document },
        refuses: [409, 413, 502, 503],
        apiOnly: "ends an upload by address; the command line uploads in one request",
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.documents",
      path: "/api/documents",
      id: { document_id: uuid.brand<"DocumentId">() },
      shape: document,
      gate: vaultUser,
      limit: perMinute,
    },
    ({ get, edit, operation }) => ({
      uploadDocument: operation({
        method: "POST",
        at: "upload",
        summary: "Upload a document as a form: file, filename",
        body: multipart(z.object({ filename: z.string().max(4096).optional() })),
        replies: { 201: document },
        refuses: [404, 409, 413, 502, 503],
      }),
      listDocuments: operation({
        as: "list",
        method: "GET",
        summary: "List one's documents; q searches their names and texts, an empty q matches all",
        query: z.object({
          q: text(1000).optional(),
          sort: oneOf(["name", "size", "created_at"]).default("created_at"),
          /** Newest first by default; names and sizes ascend. */
          order: oneOf(["asc", "desc"]).optional(),
          topic: text(200).optional(),
          /** `false`: only documents without a topic. */
          has_topics: queryFlag.optional(),
          status: status.optional(),
          content_type: exactText(200).toLowerCase().optional(),
          sha256: sha256.optional(),
          ...paging,
        }),
        replies: { 200: pageOf(listedDocument) },
      }),
      getDocument: get("Get a document; recipients of a share get it without the extracted text", {
        as: "view",
      }),
      updateDocument: edit(
        "Rename a document or replace its topics",
        z.object({
          filename: filename.optional(),
          /** Names of topics that the caller sees. */
          topics: z.array(text(200)).max(50).optional(),
        }),
        { as: "update" },
      ),
      deleteDocument: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary:
          "Put a document into the trash; remove_only keeps the provider's copy, permanent deletes at once; If-Match may have the sha256 that it must still have",
        query: z.object({
          remove_only: queryFlag.default(false),
          permanent: queryFlag.default(false),
        }),
        replies: {
          200: z.union([
            z.object({ success: z.literal(true) }),
            z.object({ success: z.literal(false), cloud_delete_failed: z.literal(true) }),
          ]),
          412: detail,
        },
      }),
      classifyDocument: operation({
        method: "POST",
        item: true,
        at: "classify",
        summary: "Extract the text again and classify the document, in the background",
        replies: { 202: z.object({ document_id: uuid, status: z.literal("processing") }) },
      }),
      getDocumentContent: operation({
        method: "GET",
        item: true,
        at: "content",
        summary: "Get a document's bytes; ranges and conditional requests are answered",
        query: z.object({ disposition }),
        replies: { 200: bytes },
        refuses: [502, 503],
      }),
      getDocumentThumbnail: operation({
        as: "thumbnail",
        method: "GET",
        item: true,
        at: "thumbnail",
        summary:
          "Get a small PNG of a picture or the first page of a PDF; 404 says why a document has none",
        limit: perAccount(1_000, 60),
        replies: { 200: bytes },
        refuses: [502, 503],
        apiOnly: "pages show it in tiles; a terminal has no place for it",
      }),
      replaceDocumentContent: operation({
        as: "replace",
        method: "PUT",
        item: true,
        at: "content",
        summary:
          "Replace the content of a document; If-Match has its sha256 or the ETag of the content, or *",
        body: stream("*/*"),
        replies: { 200: document, 412: detail, 428: detail },
        refuses: [413, 502, 503],
      }),
      listDocumentVersions: operation({
        as: "list_versions",
        method: "GET",
        item: true,
        at: "versions",
        summary: "List the present content of a document and the earlier ones, newest first",
        query: z.object(paging),
        replies: { 200: pageOf(version) },
      }),
      getDocumentVersionContent: operation({
        as: "version_content",
        method: "GET",
        params: versionParams,
        at: ":document_id/versions/:number/content",
        summary: "Get the bytes of one content; ranges and conditional requests are answered",
        query: z.object({ disposition }),
        replies: { 200: bytes },
        refuses: [502, 503],
      }),
      restoreDocumentVersion: operation({
        as: "restore_version",
        method: "POST",
        params: versionParams,
        at: ":document_id/versions/:number/restore",
        summary: "Make an earlier content the present one, under the next number",
        replies: { 200: document },
      }),
      listDocumentEvents: operation({
        as: "list_events",
        method: "GET",
        item: true,
        at: "events",
        summary:
          "List the audit records of a document, its shares and links, newest first; owner only",
        query: z.object(paging),
        replies: { 200: pageOf(documentEvent) },
        apiOnly:
          "the page of a document shows them; the command line has the audit of all accounts",
      }),
      listTrashedDocuments: operation({
        as: "list_trash",
        method: "GET",
        at: "trash",
        summary: "List the documents in one's trash, last deleted first",
        query: z.object(paging),
        replies: { 200: pageOf(trashedDocument) },
      }),
      restoreDocument: operation({
        as: "restore",
        method: "POST",
        item: true,
        at: "restore",
        summary: "Return a document from the trash, with its topics, versions, shares and links",
        replies: { 200: document },
        refuses: [413],
      }),
      emptyDocumentTrash: operation({
        as: "empty_trash",
        method: "DELETE",
        at: "trash",
        summary: "Delete everything in one's trash permanently",
        replies: { 200: z.object({ removed: z.int().min(0) }) },
      }),
      deleteTrashedDocument: operation({
        as: "delete_trashed",
        method: "DELETE",
        params: documentParams,
        at: "trash/:document_id",
        summary: "Delete a document in the trash permanently",
        replies: { 204: empty },
      }),
    }),
  ),
};
