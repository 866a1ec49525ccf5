import { contentTypeOf } from "../content-type.ts";
import type { Expected, Facts, ProviderItem } from "../provider.ts";
import type { PropName } from "./client.ts";
import type { DavResponse } from "./multistatus.ts";

/** An item as a look has shown it. */
export interface Seen {
  readonly item: ProviderItem;
  /** What may be sent in `If-Match`: a strong tag of a file. */
  readonly strongTag: string | undefined;
  /** Nextcloud and ownCloud: which item it is, wherever it lies. */
  readonly fileId: string | undefined;
  /** Nextcloud and ownCloud: letters of what may be done with it; undefined where nobody says. */
  readonly permissions: string | undefined;
}

const DAV = "DAV:";
const OWNCLOUD = "http://owncloud.org/ns";

/** What is asked of every item. */
export const davProps: readonly PropName[] = [
  "resourcetype",
  "getcontentlength",
  "getlastmodified",
  "getetag",
  "getcontenttype",
].map((local) => ({ uri: DAV, local }));

/** What Nextcloud and ownCloud tell besides. */
export const cloudProps: readonly PropName[] = ["fileid", "permissions"].map((local) => ({
  uri: OWNCLOUD,
  local,
}));

export const quotaProps: readonly PropName[] = ["quota-available-bytes", "quota-used-bytes"].map(
  (local) => ({ uri: DAV, local }),
);

/** How long a change within a coarse clock's step may go unseen, with room for rounding on both sides. */
const SETTLES_MS = 3_000;

/** Describes one response. Times are compared with the server's own clock. */
export function toSeen(
  parent: string,
  name: string,
  response: DavResponse,
  serverNow: number,
  facts: Facts,
): Seen {
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
  // Without a tag, size and time are all that tells one content from another.
  const content = tag ?? `${size}-${modifiedAt}`;
  const isCoarse = tag === undefined || facts["etag"] !== "fine";
  const isUnsettled = isCoarse && (modifiedAt === undefined || serverNow - modifiedAt < SETTLES_MS);
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
      etag: toEtag(fileId, isFolder ? undefined : content),
      version: isFolder ? undefined : [fileId ?? "", content, size, modifiedAt].join(":"),
      ...(!isFolder && isUnsettled ? { unsettled: true } : {}),
    },
    strongTag: rawTag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(rawTag) ? rawTag : undefined,
    fileId,
    permissions: text("permissions", OWNCLOUD),
  };
}

/** Whether it is still what the caller saw. */
export function isExpected({ item }: Seen, expected: Expected): boolean {
  return (
    (expected.kind === undefined || expected.kind === item.kind) &&
    (expected.etag === undefined || item.etag === undefined || expected.etag === item.etag)
  );
}

/** A tag without what says how it may be compared, and without what a compressing server hangs on. */
export function plainTag(tag: string): string {
  return tag
    .trim()
    .replace(/^W\//, "")
    .replace(/^"|"$/g, "")
    .replace(/-gzip$/, "");
}

/** A folder's tag changes with everything below it: only which folder it is counts. */
function toEtag(fileId: string | undefined, content: string | undefined): string | undefined {
  const parts = [fileId, content].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(":");
}

/** A count from 0 up; everything else (a marker such as -3, too) is unknown. */
export function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Epoch milliseconds of a date in any of the spellings that servers use; without a zone it is one of Greenwich. */
export function toTime(text: string | undefined): number | undefined {
  const date = text?.trim() ?? "";
  const lacksZone = /:\d{2}(?:\.\d+)?(?: \d{4})?$/.test(date) && !/[+-]\d{2}:\d{2}$/.test(date);
  const time = Date.parse(lacksZone ? `${date}${/^\d{4}-/.test(date) ? "Z" : " GMT"}` : date);
  return Number.isNaN(time) ? undefined : time;
}

/** Not what stands for "I do not know", and not what servers call folders. */
function toContentType(text: string | undefined): string | undefined {
  const type = text?.split(";")[0]?.trim().toLowerCase();
  const isKnown = type !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(type);
  return isKnown && type !== "application/octet-stream" && type !== "httpd/unix-directory"
    ? type
    : undefined;
}
