import { contentTypeOf } from "../content-type.ts";
import { asCount, asObject, asText, asTime, type JsonObject } from "../json.ts";
import type { ProviderItem } from "../item.ts";

/** The properties to request of every item. */
export const ITEM_FIELDS =
  "id,name,size,eTag,cTag,file,folder,package,bundle,remoteItem,parentReference,lastModifiedDateTime,fileSystemInfo,deleted";

/** An item of a drive, with the adapter's own fields. */
export interface DriveItem {
  readonly item: ProviderItem;
  /** Hash of a file's bytes, if the drive states it. */
  readonly quickXorHash: string | undefined;
  /** Of a folder. */
  readonly childCount: number | undefined;
}

/**
 * Parses a `driveItem` of Microsoft Graph; undefined when it is invalid. Notebooks, albums and shortcuts to
 * other users' drives are files without bytes; some of them omit their folder, which is `listedIn` then.
 */
export function toDriveItem(
  raw: JsonObject,
  rootId: string,
  listedIn?: string,
): DriveItem | undefined {
  const id = toItemId(raw["id"]);
  const name = asText(raw["name"]);
  const reference = asObject(raw["parentReference"]);
  const holder = toItemId(reference?.["id"]) ?? listedIn;
  if (id === undefined || name === undefined || holder === undefined) return undefined;
  if (!isPossibleId(id) || name.includes("\0") || raw["deleted"] !== undefined) return undefined;
  const isElsewhere = [raw["package"], raw["bundle"], raw["remoteItem"]].some(
    (facet) => facet !== undefined && facet !== null,
  );
  const file = isElsewhere ? undefined : asObject(raw["file"]);
  const folder = isElsewhere ? undefined : asObject(raw["folder"]);
  const etag = asText(raw["eTag"]);
  const fileSystem = asObject(raw["fileSystemInfo"]);
  const size = file && asCount(raw["size"]);
  return {
    item: {
      id,
      name,
      kind: folder === undefined ? "file" : "folder",
      parent: holder === rootId || isRootPath(reference?.["path"]) ? "" : holder,
      contentType: file && toContentType(file["mimeType"], name),
      size,
      modifiedAt:
        asTime(fileSystem?.["lastModifiedDateTime"]) ?? asTime(raw["lastModifiedDateTime"]),
      etag: etag !== undefined && isHeaderValue(etag) ? etag : undefined,
      version: file && (asText(raw["cTag"]) ?? etag),
    },
    quickXorHash: asText(asObject(file?.["hashes"])?.["quickXorHash"]),
    childCount: asCount(folder?.["childCount"]),
  };
}

/**
 * Normalizes an item's id: personal drives write the same id in upper case here and in lower case there,
 * and omit a leading zero.
 */
export function toItemId(value: unknown): string | undefined {
  const id = asText(value);
  const personal = /^([0-9a-f]{15,16})!([0-9a-z]+)$/i.exec(id ?? "");
  if (personal === null) return id;
  const [, drive = "", item = ""] = personal;
  return `${drive.toUpperCase().padStart(16, "0")}!${item.toLowerCase()}`;
}

/** Normalizes a drive's id in the same way. */
export function toDriveId(value: unknown): string | undefined {
  const id = asText(value);
  const isPersonal = id !== undefined && /^[0-9a-f]{15,16}$/i.test(id);
  return isPersonal ? id.toLowerCase().padStart(16, "0") : id;
}

/** Returns whether an untrusted id can be a segment of a URL: a dot segment would lead elsewhere. */
export function isPossibleId(id: string): boolean {
  return id.length <= 400 && !id.includes("\0") && !/^\.+$/.test(id);
}

/** Returns whether an untrusted text is valid in a header. */
export function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e]{1,1024}$/.test(text);
}

/** Parses `/drive/root:` or `/drives/<id>/root:`. */
function isRootPath(path: unknown): boolean {
  return typeof path === "string" && /^\/drives?\/(?:[^/:]+\/)?root:$/.test(path);
}

/** Returns the drive's value; undefined for the value by which it means "unknown". */
function toContentType(type: unknown, name: string): string | undefined {
  const isType = typeof type === "string" && /^[\w.+-]+\/[\w.+-]+$/.test(type);
  const guessed = contentTypeOf(name);
  return isType && type !== "application/octet-stream"
    ? type
    : (guessed ?? (isType ? type : undefined));
}
