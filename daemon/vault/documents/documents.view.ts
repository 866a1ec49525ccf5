import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { toMediaType } from "../../contract/media-type.ts";
import type { AuditRecord } from "../../../storage/tables/vault/audit.ts";
import type { VaultDocument } from "../../../storage/tables/vault/documents/documents.ts";
import { describeIssue } from "../../contract/issue-text.ts";
import { filename as filenameSchema } from "../../contract/vault/documents.ts";
import type { BytesAnswer, MultipartForm } from "../../http/handle.ts";
import { toTime } from "../accounts/accounts.view.ts";
import { toContentDisposition } from "../cloud/bytes/content-disposition.ts";
import { isPreviewable, toEssence } from "../cloud/bytes/previewable.ts";
import { toFieldError } from "../cloud/field-error.ts";
import { type PageRequest, toPage } from "../page.ts";
import type { DocumentContent, DocumentDetail } from "./documents.service.ts";
import type { TrashedDetail } from "./trash.service.ts";
import type { Replacement, VersionDetail } from "./versions.service.ts";
import type { FormUpload, UploadAddress } from "./uploads.service.ts";

/** A document as lists show it: without its text. */
export function toDocumentView({ document, topics }: DocumentDetail) {
  return {
    id: document.id,
    filename: document.filename,
    content_type: document.contentType,
    size_bytes: document.sizeBytes,
    sha256: document.sha256,
    status: document.status,
    status_reason: document.statusReason ?? null,
    storage_backend: document.storageBackend,
    semantic_index_status: document.semanticIndexStatus,
    topics: [...topics],
    classification: toClassificationView(document),
    created_at: toTime(document.createdAt),
    updated_at: toTime(document.updatedAt),
  };
}

function toClassificationView(document: VaultDocument) {
  if (document.classifiedTopic === undefined) return null;
  return {
    topic: document.classifiedTopic,
    confidence: document.classificationConfidence ?? 0,
    provider: document.classificationProvider ?? "",
    words: [...(document.classificationWords ?? [])],
  };
}

/** A document as its owner sees it. */
export function toOwnDocumentView(detail: DocumentDetail) {
  const { extractedText } = detail;
  const view = toDocumentView(detail);
  return extractedText === undefined ? view : { ...view, extracted_text: extractedText };
}

/** One page of a list. */
export function toDocumentPage(
  { details, total }: { readonly details: readonly DocumentDetail[]; readonly total: number },
  page: PageRequest,
) {
  const items = details.map((detail) => ({
    ...toDocumentView(detail),
    snippet: detail.snippet ?? null,
  }));
  return toPage(items, total, page);
}

/** One page of the audit records of a document. Addresses of other people are not shown. */
export function toEventPage(
  { records, total }: { readonly records: readonly AuditRecord[]; readonly total: number },
  page: PageRequest,
) {
  const items = records.map(({ id, eventType, actorHandle, metadata, createdAt }) => ({
    id,
    event_type: eventType,
    actor_handle: actorHandle ?? null,
    metadata,
    created_at: toTime(createdAt),
  }));
  return toPage(items, total, page);
}

/** The answer to a deletion; a provider that failed is not an error. */
export function toDeletionView(isDeleted: boolean) {
  return isDeleted
    ? ({ success: true } as const)
    : ({ success: false, cloud_delete_failed: true } as const);
}

/** One page of the trash. */
export function toTrashPage(
  { trashed, total }: { readonly trashed: readonly TrashedDetail[]; readonly total: number },
  page: PageRequest,
) {
  const items = trashed.map(({ detail, deletedAt, expiresAt }) => ({
    ...toDocumentView(detail),
    deleted_at: toTime(deletedAt),
    expires_at: toTime(expiresAt),
  }));
  return toPage(items, total, page);
}

/** One page of the contents of a document. */
export function toVersionPage(versions: readonly VersionDetail[], request: PageRequest) {
  const { page, perPage } = request;
  const items = versions.slice((page - 1) * perPage, page * perPage).map((version) => ({
    number: version.number,
    is_current: version.isCurrent,
    content_type: version.contentType,
    size_bytes: version.sizeBytes,
    sha256: version.sha256,
    created_at: toTime(version.createdAt),
  }));
  return toPage(items, versions.length, request);
}

/** Replaces the content of a document by that of a request, and returns the answer. */
export async function toReplacementReply(
  content: Readable,
  headers: IncomingHttpHeaders,
  replace: (replacement: Replacement) => Promise<DocumentDetail>,
) {
  const replacement = readReplacement(content, headers);
  if (replacement !== undefined)
    return { status: 200, body: toOwnDocumentView(await replace(replacement)) } as const;
  content.resume();
  return preconditionRequired;
}

/** The answer to a replacement that names no version. */
const preconditionRequired = {
  status: 428,
  body: { detail: "Send If-Match with the sha256 of the content that is replaced, or *." },
} as const;

/** Reads the new content of a document; undefined without `If-Match`. A type that says nothing keeps the document's. */
function readReplacement(content: Readable, headers: IncomingHttpHeaders): Replacement | undefined {
  const ifMatch = headers["if-match"];
  if (ifMatch === undefined) return undefined;
  const type = toMediaType(headers["content-type"]);
  const says = type !== undefined && !UNTOLD_TYPES.has(toEssence(type));
  const length = headers["content-length"];
  return {
    ifMatch,
    contentType: says ? toEssence(type) : undefined,
    content,
    size: length === undefined ? undefined : Number(length),
  };
}

/** Types that clients send for any file. */
const UNTOLD_TYPES = new Set(["application/octet-stream", "application/x-www-form-urlencoded"]);

/** The answer to a request for an upload address. */
export function toUploadAddressView(address: UploadAddress, publicUrl: string) {
  return {
    document_id: address.documentId,
    upload_url: `${publicUrl}/api/documents/uploads/${address.ticket}`,
    method: "PUT" as const,
    headers: { "Content-Type": address.contentType },
    expires_at: toTime(address.expiresAt),
  };
}

/**
 * The bytes of a document. `inline` only applies to types that cannot run script; every other type is an attachment,
 * whatever the request asks for.
 */
export function toContentAnswer(
  { document, bytes }: DocumentContent,
  disposition: "inline" | "attachment",
): BytesAnswer {
  const type = toEssence(document.contentType);
  const isInline = disposition === "inline" && isPreviewable(type);
  const contentType = type.startsWith("text/") ? `${type}; charset=utf-8` : type;
  return {
    status: 200,
    headers: {
      "Content-Disposition": isInline ? "inline" : toContentDisposition(document.filename),
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "Cache-Control": "private, no-cache",
    },
    bytes: { ...bytes, contentType: isInline ? contentType : document.contentType },
  };
}

/**
 * Reads an upload form. The name is the field `filename`, else the file's own, else `upload`. Refuses with
 * `unprocessable` a form without a file in the field `file`, and a name that breaks the rules.
 */
export function readUploadForm({
  fields,
  file,
}: MultipartForm<{ readonly filename?: string | undefined }>): FormUpload {
  if (file === undefined || file.field !== "file") {
    file?.stream.resume();
    throw toFieldError(["body", "file"], "The form needs a file in the field file.", "missing");
  }
  const name = filenameSchema.safeParse(fields.filename || file.filename || "upload", {
    error: describeIssue,
  });
  if (!name.success) {
    file.stream.resume();
    const reason = name.error.issues[0]?.message ?? "Not a file name";
    throw toFieldError(["body", "filename"], reason, "invalid_name");
  }
  return {
    filename: name.data,
    contentType: toEssence(file.contentType) || "application/octet-stream",
    content: file.stream,
    size: file.size,
  };
}
