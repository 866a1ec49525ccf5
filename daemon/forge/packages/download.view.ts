import type { BytesAnswer } from "../../http/handle.ts";
import type { PackageDownload } from "./downloads.ts";

/** Converts a file to a response with `Content-Disposition: attachment`, so that no browser renders it. */
export function toDownloadAnswer({ file, open }: PackageDownload): BytesAnswer {
  return {
    status: 200,
    headers: { "Content-Disposition": toContentDisposition(file.name, "attachment") },
    bytes: {
      size: file.size,
      contentType: "application/octet-stream",
      etag: file.sha256,
      lastModified: new Date(file.createdAt),
      open,
    },
  };
}

/** Returns both forms of RFC 6266: `filename*` is for clients that decode percent signs in `filename`. */
export function toContentDisposition(name: string, kind: "attachment" | "inline"): string {
  const plain = name.replace(/[^ !#-[\]-~]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
