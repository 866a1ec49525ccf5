import { hash } from "node:crypto";
import { contentTypeOf } from "../content-type.ts";
import { asCount, asText, asTime, type JsonObject } from "../json.ts";
import type { ItemKind, ProviderItem } from "../item.ts";

/** An item in Dropbox's form: with its path, without its folder's id. */
export interface DropboxItem {
  readonly id: string;
  readonly name: string;
  readonly kind: ItemKind;
  /** Lower-case, from the root on: the path that Dropbox compares. */
  readonly path: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  /** The revision of a file, which changes with every version. */
  readonly rev: string | undefined;
  readonly contentHash: string | undefined;
}

/** Parses the metadata of a file or folder; `kind` is for responses that omit it. Undefined when it is invalid. */
export function toDropboxItem(raw: JsonObject, kind?: ItemKind): DropboxItem | undefined {
  const tag = asText(raw[".tag"]) ?? kind;
  const [id, name, path] = [asText(raw["id"]), asText(raw["name"]), asText(raw["path_lower"])];
  if (tag !== "file" && tag !== "folder") return undefined;
  if (id === undefined || name === undefined || path?.startsWith("/") !== true) return undefined;
  if (!isId(id) || (name + path).includes("\0")) return undefined;
  // Documents of Dropbox's editors can only be exported, and links have no bytes of their own.
  const isFile = tag === "file";
  const hasBytes = isFile && raw["is_downloadable"] !== false && raw["symlink_info"] === undefined;
  return {
    id,
    name,
    kind: tag,
    path,
    size: hasBytes ? asCount(raw["size"]) : undefined,
    modifiedAt: isFile
      ? (asTime(raw["client_modified"]) ?? asTime(raw["server_modified"]))
      : undefined,
    rev: isFile ? asText(raw["rev"]) : undefined,
    contentHash: isFile ? asText(raw["content_hash"]) : undefined,
  };
}

/** Returns the item in the form of the contract, in a folder whose id is known. */
export function toProviderItem(item: DropboxItem, parent: string): ProviderItem {
  const { id, name, kind, size, modifiedAt, rev } = item;
  return {
    id,
    name,
    kind,
    parent,
    contentType: kind === "file" ? contentTypeOf(name) : undefined,
    size,
    modifiedAt,
    etag: toEtag(item, parent),
    version: rev,
  };
}

/** Dropbox's revision covers the bytes only: of two clients that rename the same item, the second must get `stale`. */
function toEtag({ name, rev }: DropboxItem, parent: string): string {
  const place = hash("sha256", `${parent}\0${name}`, "base64url").slice(0, 12);
  return rev === undefined ? place : `${rev}.${place}`;
}

/** Returns the path of the parent folder; empty for the root. */
export function parentPathOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Accepts only ids: a path, which the API accepts in the same place, could mean any item. */
export function isId(id: string): boolean {
  return /^id:[\w-]{1,200}$/.test(id);
}
