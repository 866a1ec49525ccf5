import type { BytesAnswer } from "../../http/handle.ts";
import type { PackageDownload } from "./downloads.ts";

/** A file as an answer: always a download, never something that a browser shows. */
export function toDownloadAnswer({ file, open }: PackageDownload): BytesAnswer {
  return {
    status: 200,
    headers: { "Content-Disposition": toContentDisposition(file.name) },
    bytes: {
      size: file.size,
      contentType: "application/octet-stream",
      etag: file.sha256,
      lastModified: new Date(file.createdAt),
      open,
    },
  };
}

/**
 * Names of files are printable ASCII without quotes and backslashes, so the plain form is safe; the encoded form is
 * for clients that would decode percent signs in it.
 */
function toContentDisposition(name: string): string {
  const plain = name.replace(/[^ !#-[\]-~]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
