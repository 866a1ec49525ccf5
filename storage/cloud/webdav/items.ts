import { contentTypeOf } from "../content-type.ts";
import type { Expected, ProbeResult } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import type { PropName } from "./client.ts";
import type { DavResponse } from "./multistatus.ts";

/** An item of a listing or lookup. */
export interface DavItem {
  readonly item: ProviderItem;
  /** The value for `If-Match`: a strong tag of a file. */
  readonly strongTag: string | undefined;
  /** Nextcloud and ownCloud: identifies the item, wherever it moves. */
  readonly fileId: string | undefined;
  /** Nextcloud and ownCloud: permission letters; undefined on other servers. */
  readonly permissions: string | undefined;
}

const DAV = "DAV:";
const OWNCLOUD = "http://owncloud.org/ns";

/** The properties to request of every item. */
export const davProps: readonly PropName[] = [
  "resourcetype",
  "getcontentlength",
  "getlastmodified",
  "getetag",
  "getcontenttype",
].map((local) => ({ uri: DAV, local }));

/** Additional properties of Nextcloud and ownCloud. */
export const cloudProps: readonly PropName[] = ["fileid", "permissions"].map((local) => ({
  uri: OWNCLOUD,
  local,
}));

export const quotaProps: readonly PropName[] = ["quota-available-bytes", "quota-used-bytes"].map(
  (local) => ({ uri: DAV, local }),
);

/** Time within which a change may go unnoticed because of a coarse clock, with a margin for rounding on both sides. */
const COARSE_CLOCK_MS = 3_000;

/** Parses one response. Times are compared with the server's own clock. */
export function toDavItem(
  parent: string,
  name: string,
  response: DavResponse,
  serverNow: number,
  probeResult: ProbeResult,
): DavItem {
  const { isFolder, props } = response;
  const text = (local: string, uri = DAV) => {
    const value = props.get(`{${uri}}${local}`);
    return value === "" ? undefined : value;
  };
  const size = isFolder ? undefined : toCount(text("getcontentlength"));
  const modifiedAt = toTime(text("getlastmodified"));
  const rawTag = isFolder ? undefined : text("getetag");
  const tag = rawTag === undefined ? undefined : plainTag(rawTag);
  const fileId = text("fileid", OWNCLOUD);
  const isCoarse = tag === undefined || probeResult["etag"] !== "fine";
  // Without a tag that changes with the bytes, only size and time distinguish versions.
  const content = isCoarse ? [tag, size, modifiedAt].filter(isGiven).join("-") || undefined : tag;
  const isUnsettled =
    isCoarse && (modifiedAt === undefined || serverNow - modifiedAt < COARSE_CLOCK_MS);
  return {
    item: {
      id: parent === "" ? name : `${parent}/${name}`,
      name,
      kind: isFolder ? "folder" : "file",
      parent,
      contentType: isFolder
        ? undefined
        : (toContentType(text("getcontenttype")) ?? contentTypeOf(name)),
      size,
      modifiedAt,
      // Nextcloud's tag can outlast a change; the size tells some of those apart.
      etag: toEtag(fileId, isFolder ? undefined : content, fileId === undefined ? undefined : size),
      version: isFolder ? undefined : [fileId ?? "", content, size, modifiedAt].join(":"),
      ...(!isFolder && isUnsettled ? { unsettled: true } : {}),
    },
    strongTag: rawTag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(rawTag) ? rawTag : undefined,
    fileId,
    permissions: text("permissions", OWNCLOUD),
  };
}

function isGiven(part: string | number | undefined): boolean {
  return part !== undefined;
}

/** Returns whether an item is unchanged since the caller saw it. */
export function isExpected({ item }: DavItem, expected: Expected): boolean {
  return (
    (expected.kind === undefined || expected.kind === item.kind) &&
    (expected.etag === undefined || item.etag === undefined || expected.etag === item.etag)
  );
}

/**
 * Returns the time for new bytes of a file, in epoch seconds: later than that of the replaced version, because Nextcloud
 * and ownCloud keep a file's tag while its time stays the same.
 */
export function toLaterSeconds(over: DavItem | undefined, now: number): number {
  return Math.max(Math.floor(now / 1000), Math.floor((over?.item.modifiedAt ?? 0) / 1000) + 1);
}

/** Strips the weakness mark of a tag, and the suffix that a compressing server adds. */
export function plainTag(tag: string): string {
  return tag
    .trim()
    .replace(/^W\//, "")
    .replace(/^"|"$/g, "")
    .replace(/-gzip$/, "");
}

/** A folder's tag changes with everything below it: only its identity counts. */
function toEtag(
  fileId: string | undefined,
  content: string | undefined,
  size: number | undefined,
): string | undefined {
  const parts = [fileId, content, size].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(":");
}

/** Parses a non-negative integer; any other value (also a marker such as -3) is unknown. */
export function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Parses a date in any of the formats that servers use to epoch milliseconds; UTC without a zone. */
export function toTime(text: string | undefined): number | undefined {
  const date = text?.trim() ?? "";
  const lacksZone = /:\d{2}(?:\.\d+)?(?: \d{4})?$/.test(date) && !/[+-]\d{2}:\d{2}$/.test(date);
  const time = Date.parse(lacksZone ? `${date}${/^\d{4}-/.test(date) ? "Z" : " GMT"}` : date);
  return Number.isNaN(time) ? undefined : time;
}

/** Drops types that mean "unknown" and the type that servers give folders. */
function toContentType(text: string | undefined): string | undefined {
  const type = text?.split(";")[0]?.trim().toLowerCase();
  const isKnown = type !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(type);
  return isKnown && type !== "application/octet-stream" && type !== "httpd/unix-directory"
    ? type
    : undefined;
}
