import { hash } from "node:crypto";
import { contentTypeOf } from "../content-type.ts";
import { asCount, asText, asTime, type JsonObject } from "../json.ts";
import type { ItemKind, ProviderItem } from "../provider.ts";

/** An item as Dropbox tells it: by its path, without its folder's id. */
export interface DropboxItem {
  readonly id: string;
  readonly name: string;
  readonly kind: ItemKind;
  /** Lower-case, from the root on: what Dropbox compares. */
  readonly path: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  /** Of a file: changes with every version. */
  readonly rev: string | undefined;
  readonly contentHash: string | undefined;
}

/** Metadata of a file or folder; `kind` where the wire does not say. Undefined when it is none that can be kept. */
export function toDropboxItem(raw: JsonObject, kind?: ItemKind): DropboxItem | undefined {
  const tag = asText(raw[".tag"]) ?? kind;
  const [id, name, path] = [asText(raw["id"]), asText(raw["name"]), asText(raw["path_lower"])];
  if (tag !== "file" && tag !== "folder") return undefined;
  if (id === undefined || name === undefined || path?.startsWith("/") !== true) return undefined;
  if (!isId(id) || (name + path).includes("\0")) return undefined;
  // Documents that live in Dropbox's editors can be exported only, and links have no bytes of their own.
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

/** The item as the contract has it, in a folder whose id is known. */
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

/** Dropbox's own mark tells of the bytes only: of two who rename what both have seen, the second shall hear that it changed. */
function toEtag({ name, rev }: DropboxItem, parent: string): string {
  const place = hash("sha256", `${parent}\0${name}`, "base64url").slice(0, 12);
  return rev === undefined ? place : `${rev}.${place}`;
}

/** The path of the folder that holds it; empty for the root. */
export function parentPathOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Only ids are taken for ids: a path, which the service takes in the same place, could mean any item. */
export function isId(id: string): boolean {
  return /^id:[\w-]{1,200}$/.test(id);
}
