import { toEssence } from "../cloud/bytes/previewable.ts";
import { AppError } from "../../errors.ts";
import type { LinkTarget } from "./link-targets.ts";
import type { Preview } from "./link-pages.tsx";
import type { LinkVisits, Visit } from "./visits.service.ts";

/** How much of a text the page of a link shows. */
const TEXT_BYTES_MAX = 64 * 1024;

/** Returns what the page of a link shows of its file; undefined for other types, and where downloads are limited. */
export async function readPreview(
  visits: Pick<LinkVisits, "download">,
  visit: Extract<Visit, { kind: "open" }>,
): Promise<Preview | undefined> {
  const { link, target } = visit;
  if (target === undefined || link.maxDownloads !== undefined) return undefined;
  const type = toEssence(toContentType(target));
  const [kind] = type.split("/", 1);
  if (type === "application/pdf") return { kind: "viewer" };
  if (/^image\/(?:avif|bmp|gif|jpeg|png|webp)$/.test(type)) return { kind: "picture" };
  if (/^audio\/(?:mpeg|ogg|wav|x-wav)$/.test(type)) return { kind: "sound" };
  if (/^video\/(?:mp4|webm)$/.test(type)) return { kind: "film" };
  const isText = (kind === "text" && type !== "text/html") || type === "application/json";
  return isText ? readText(visits, visit) : undefined;
}

function toContentType(target: LinkTarget): string | undefined {
  if (target.kind === "document") return target.document.contentType;
  return target.kind === "file" ? target.item.contentType : undefined;
}

/** A file that cannot be read at the moment has no preview; its download says why. */
async function readText(
  visits: Pick<LinkVisits, "download">,
  visit: Extract<Visit, { kind: "open" }>,
): Promise<Preview | undefined> {
  try {
    const uncounted = { isCounted: false, isBeginning: false };
    const file = await visits.download(visit, { address: "", pass: undefined }, uncounted);
    if (file === undefined) return undefined;
    try {
      const chunks: Buffer[] = [];
      let size = 0;
      // Leaving the loop early destroys the stream.
      for await (const chunk of (await file.open()) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        size += chunk.byteLength;
        if (size > TEXT_BYTES_MAX) break;
      }
      const text = Buffer.concat(chunks).subarray(0, TEXT_BYTES_MAX).toString("utf8");
      return { kind: "text", text, isWhole: size <= TEXT_BYTES_MAX };
    } finally {
      file.release?.();
    }
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
