/** Types that may be shown in place. SVG and HTML are excluded, because they can run scripts. */
const previewable: ReadonlySet<string> = new Set([
  "application/json",
  "application/pdf",
  "audio/mpeg",
  "audio/ogg",
  "audio/wav",
  "audio/x-wav",
  "image/avif",
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
  "text/csv",
  "text/markdown",
  "text/plain",
  "video/mp4",
  "video/webm",
]);

/** Whether bytes of this type may be shown in place. */
export function isPreviewable(contentType: string | undefined): boolean {
  return previewable.has(toEssence(contentType));
}

/** A type without its parameters, in lower case. */
export function toEssence(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Types of which there may be a thumbnail: the bytes decide. */
const drawable: ReadonlySet<string> = new Set([
  "application/pdf",
  "image/apng",
  "image/bmp",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/tiff",
  "image/webp",
]);

/** Whether files of this type may be drawn as a thumbnail. */
export function isDrawable(contentType: string | undefined): boolean {
  return drawable.has(toEssence(contentType));
}
