import type { ForgeAttachment } from "../../../storage/tables/forge/issues/attachments.ts";
import type { WireAttachment } from "../../contract/forge/issues/attachments.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer, FilePart, MultipartForm } from "../../http/handle.ts";
import { toContentDisposition } from "../packages/download.view.ts";
import { HARMLESS, UNKNOWN_TYPE } from "../shown-type.ts";
import { type ForgeUrls, toUrl, toWireTime } from "../urls.ts";
import type { UploadedFile } from "../uploaded-file.ts";
import type { OpenedAttachment } from "./attachments.service.ts";

/** Converts an attachment for lists and for its issue or comment. */
export function toAttachmentView(attachment: ForgeAttachment, urls: ForgeUrls): WireAttachment {
  return {
    id: attachment.id,
    name: attachment.name,
    size: attachment.size,
    download_count: attachment.downloadCount,
    created_at: toWireTime(attachment.createdAt),
    uuid: attachment.uuid,
    browser_download_url: toUrl(urls, `/attachments/${attachment.uuid}`),
  };
}

/** What a file that is attached to something has for its readers. */
type AttachedFile = Pick<ForgeAttachment, "name" | "size" | "contentType" | "sha256" | "createdAt">;

/** Returns the bytes of an attachment. Browsers show types without active content, and save the others. */
export function toAttachmentAnswer({
  attachment,
  open,
}: Pick<OpenedAttachment, "open"> & { readonly attachment: AttachedFile }): BytesAnswer {
  const { name, size, contentType, sha256, createdAt } = attachment;
  const kind = contentType === UNKNOWN_TYPE ? "attachment" : "inline";
  return {
    status: 200,
    headers: {
      ...HARMLESS,
      "Content-Disposition": toContentDisposition(name, kind),
      "Access-Control-Expose-Headers": "Content-Disposition",
      "Cache-Control": "private, no-cache",
    },
    bytes: { size, contentType, etag: sha256, lastModified: new Date(createdAt), open },
  };
}

/** Returns the file of a form. Throws `unprocessable` when the file is missing or has another field name. */
export function toUploadedFile(
  { file }: MultipartForm<unknown>,
  requestedName: string,
): UploadedFile {
  if (file === undefined) throw missing();
  if (file.field !== "attachment") throw unexpected(file);
  return {
    name: requestedName || file.filename || "attachment",
    stream: file.stream,
    size: file.size,
  };
}

const missing = () => new AppError("unprocessable", "[Attachment]: Required");

/** A spooled file occupies disk space until its stream is read. */
function unexpected({ stream }: FilePart): AppError {
  stream.resume();
  return missing();
}
