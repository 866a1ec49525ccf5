import { openPlain } from "../cloud/content-encoding.ts";
import { readXml, type XmlElement, type XmlHandlers } from "../cloud/xml.ts";
import type { Offline, ProviderAnswer } from "../cloud/transport.ts";

/** An object in a listing, with its texts as received. */
export interface ListedObject {
  readonly key: string;
  readonly size: string;
  readonly modified: string;
  readonly etag: string;
  /** Set in a listing of versions. */
  readonly versionId: string;
  /** In a listing of versions: whether this is the newest entry of the key. */
  readonly isLatest: boolean;
  /** In a listing of versions: whether this is a delete marker. */
  readonly isMarker: boolean;
}

/** One page of a listing. Keys and prefixes are still URL-encoded if the server encoded them. */
export interface ListedPage {
  readonly kind: "ok";
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
  /** Whether the server states that it encoded keys. */
  readonly isEncoded: boolean;
  /** Query of the next page; undefined on the last one. */
  readonly next: Readonly<Record<string, string>> | undefined;
}

/** The body of an error response. Missing texts are empty. */
export interface ErrorBody {
  readonly code: string;
  readonly region: string;
  readonly actualSize: string;
}

const PAGE_BYTES_MAX = 16 * 1024 * 1024;
const SMALL_BYTES_MAX = 1024 * 1024;

/**
 * Parses a page of `ListObjectsV2` or `ListObjectVersions`. Anything else, a truncated page, and a page that announces
 * more without a continuation token is invalid: `offline`.
 */
export async function readPage(answer: ProviderAnswer): Promise<ListedPage | Offline> {
  const objects: ListedObject[] = [];
  const prefixes: string[] = [];
  const top: Record<string, string> = {};
  const read = await readEntries(answer, (name, entry, text) => {
    top[name] = text;
    if (["Contents", "Version", "DeleteMarker"].includes(name))
      objects.push({
        key: entry["Key"] ?? "",
        size: entry["Size"] ?? "",
        modified: entry["LastModified"] ?? "",
        etag: entry["ETag"] ?? "",
        versionId: entry["VersionId"] ?? "",
        isLatest: entry["IsLatest"]?.trim() === "true",
        isMarker: name === "DeleteMarker",
      });
    if (name === "CommonPrefixes") prefixes.push(entry["Prefix"] ?? "");
  });
  if (read.kind !== "ok") return read;
  if (read.root === "Error" || !("IsTruncated" in top))
    return { kind: "offline", sent: true, note: "not_a_listing" };
  const isTruncated = top["IsTruncated"]?.trim() === "true";
  const next = isTruncated ? nextPage(top) : undefined;
  // Taking a truncated listing for the whole would treat the missing objects as deleted.
  if (isTruncated && next === undefined)
    return { kind: "offline", sent: true, note: "listing_without_end" };
  return { kind: "ok", objects, prefixes, isEncoded: top["EncodingType"] === "url", next };
}

function nextPage(top: Record<string, string>): Record<string, string> | undefined {
  const token = top["NextContinuationToken"];
  if (token) return { "continuation-token": token };
  const key = top["NextKeyMarker"];
  if (!key) return undefined;
  const version = top["NextVersionIdMarker"];
  return { "key-marker": key, ...(version ? { "version-id-marker": version } : {}) };
}

/** An unfinished multipart upload. */
export interface PendingUpload {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: string;
}

/** Parses one page of `ListMultipartUploads`; anything else is invalid: `offline`. */
export async function readUploads(
  answer: ProviderAnswer,
): Promise<{ readonly kind: "ok"; readonly uploads: readonly PendingUpload[] } | Offline> {
  const uploads: PendingUpload[] = [];
  let isListed = false;
  const read = await readEntries(answer, (name, entry) => {
    isListed ||= name === "IsTruncated" || name === "Upload";
    if (name === "Upload")
      uploads.push({
        key: entry["Key"] ?? "",
        uploadId: entry["UploadId"] ?? "",
        initiated: entry["Initiated"] ?? "",
      });
  });
  if (read.kind !== "ok") return read;
  return read.root !== "Error" && isListed
    ? { kind: "ok", uploads }
    : { kind: "offline", sent: true, note: "not_a_listing" };
}

/** Parses one page of the parts of an upload; anything else is invalid: `offline`. `next` is the marker of the next page. */
export async function readParts(answer: ProviderAnswer): Promise<
  | {
      readonly kind: "ok";
      readonly parts: readonly {
        readonly number: number;
        readonly etag: string;
        readonly size: number;
      }[];
      readonly next: string | undefined;
    }
  | Offline
> {
  const parts: { number: number; etag: string; size: number }[] = [];
  const top: Record<string, string> = {};
  const read = await readEntries(answer, (name, entry, text) => {
    top[name] = text;
    if (name !== "Part") return;
    const [number, size] = [Number(entry["PartNumber"]), Number(entry["Size"])];
    parts.push({ number, etag: entry["ETag"] ?? "", size });
  });
  if (read.kind !== "ok") return read;
  const isTruncated = top["IsTruncated"]?.trim() === "true";
  const next = isTruncated ? top["NextPartNumberMarker"]?.trim() : undefined;
  if (read.root === "Error" || !("IsTruncated" in top) || (isTruncated && !next))
    return { kind: "offline", sent: true, note: "not_a_listing" };
  return { kind: "ok", parts, next };
}

/** Returns the texts of a small document's top-level elements by name, and the name of its document element. */
export async function readFields(answer: ProviderAnswer): Promise<
  | {
      readonly kind: "ok";
      readonly root: string;
      readonly fields: Readonly<Record<string, string>>;
    }
  | Offline
> {
  const fields: Record<string, string> = {};
  const read = await readRoot(answer, SMALL_BYTES_MAX, {
    close(element, text) {
      if (levelOf(element) === 1) fields[element.local] = text;
    },
  });
  return read.kind === "ok" ? { kind: "ok", root: read.root, fields } : read;
}

/** Returns the keys that a batch failed to delete, each with its code. */
export async function readDeleteResult(answer: ProviderAnswer): Promise<
  | {
      readonly kind: "ok";
      readonly root: string;
      readonly failed: readonly { readonly key: string; readonly code: string }[];
      readonly code: string;
    }
  | Offline
> {
  const failed: { key: string; code: string }[] = [];
  let code = "";
  const read = await readEntries(answer, (name, entry, text) => {
    if (name === "Code") code = text;
    if (name === "Error") failed.push({ key: entry["Key"] ?? "", code: entry["Code"] ?? "" });
  });
  return read.kind === "ok" ? { ...read, failed, code } : read;
}

/** Reads the error of a refused request. A body that is missing or not XML yields empty texts. */
export async function readError(answer: ProviderAnswer): Promise<ErrorBody> {
  const read = await readFields(answer);
  const fields = read.kind === "ok" && read.root === "Error" ? read.fields : {};
  return {
    code: fields["Code"] ?? "",
    region: fields["Region"] ?? "",
    actualSize: fields["ActualObjectSize"] ?? "",
  };
}

/** Calls back for each element of the first level, with its text and the texts of its direct children by name. */
function readEntries(
  answer: ProviderAnswer,
  give: (name: string, entry: Readonly<Record<string, string>>, text: string) => void,
): ReturnType<typeof readRoot> {
  let entry: Record<string, string> = {};
  return readRoot(answer, PAGE_BYTES_MAX, {
    open(element) {
      if (levelOf(element) === 1) entry = {};
    },
    close(element, text) {
      const level = levelOf(element);
      if (level === 2) entry[element.local] = text;
      if (level === 1) give(element.local, entry, text);
    },
  });
}

async function readRoot(
  answer: ProviderAnswer,
  bytesMax: number,
  handlers: XmlHandlers,
): Promise<{ readonly kind: "ok"; readonly root: string } | Offline> {
  let root = "";
  const read = await readXml(
    openPlain(answer, undefined),
    {
      open(element) {
        if (element.parent === undefined) root = element.local;
        handlers.open?.(element);
      },
      close: (element, text) => handlers.close?.(element, text),
    },
    { bytesMax },
  );
  return read.kind === "ok" ? { kind: "ok", root } : read;
}

/** 0 for the document element. */
function levelOf(element: XmlElement): number {
  let level = 0;
  for (let above = element.parent; above !== undefined; above = above.parent) level += 1;
  return level;
}
