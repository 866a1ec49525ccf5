import { hash } from "node:crypto";
import { asObject, asText, asTime, type JsonObject } from "../json.ts";
import type { Expected } from "../provider.ts";
import type { ProviderItem } from "../item.ts";

/** A file or folder, from either version of the API. */
export interface DriveFile {
  readonly item: ProviderItem;
  readonly isTrashed: boolean;
  readonly mimeType: string;
  /** The real id of its parent folder; undefined for a shared item outside this drive. */
  readonly parentId: string | undefined;
  /** Epoch milliseconds of its creation; decides which item has a name first. 0 when it was not requested. */
  readonly createdAt: number;
  readonly md5: string | undefined;
  readonly headRevision: string | undefined;
  /** Whether its revisions are readable, so that a read can be pinned to one. */
  readonly canReadRevisions: boolean;
  /** The etag that v2 compares with `If-Match`. */
  readonly tag: string | undefined;
}

export const FOLDER_TYPE = "application/vnd.google-apps.folder";
const NATIVE_TYPES = "application/vnd.google-apps.";

/** The fields to request of a file in v3. */
export const FIELDS =
  "id,name,mimeType,size,md5Checksum,headRevisionId,createdTime,modifiedTime,parents,trashed,capabilities/canReadRevisions";
/** The same in v2, under partly different names, and the etag. */
export const GUARD_FIELDS =
  "id,title,mimeType,fileSize,md5Checksum,headRevisionId,createdDate,modifiedDate,parents(id),labels(trashed),etag";

/** Parses a file of v3; undefined when it is invalid. `rootId` is the id of the root folder. */
export function toDriveFile(fields: unknown, rootId: string): DriveFile | undefined {
  const value = asObject(fields);
  const parents: unknown = value?.["parents"];
  return toFile(rootId, {
    id: value?.["id"],
    name: value?.["name"],
    mimeType: value?.["mimeType"],
    size: value?.["size"],
    md5: value?.["md5Checksum"],
    revision: value?.["headRevisionId"],
    created: value?.["createdTime"],
    modified: value?.["modifiedTime"],
    parent: Array.isArray(parents) ? parents[0] : undefined,
    trashed: value?.["trashed"],
    revisions: asObject(value?.["capabilities"])?.["canReadRevisions"],
    tag: undefined,
  });
}

/** Parses a file of v2, with its etag. */
export function toGuardedFile(value: JsonObject, rootId: string): DriveFile | undefined {
  const parents: unknown = value["parents"];
  return toFile(rootId, {
    id: value["id"],
    name: value["title"],
    mimeType: value["mimeType"],
    size: value["fileSize"],
    md5: value["md5Checksum"],
    revision: value["headRevisionId"],
    created: value["createdDate"],
    modified: value["modifiedDate"],
    parent: Array.isArray(parents) ? asObject(parents[0])?.["id"] : undefined,
    trashed: asObject(value["labels"])?.["trashed"],
    revisions: undefined,
    tag: value["etag"],
  });
}

function toFile(
  rootId: string,
  fields: Readonly<
    Record<
      | "id"
      | "name"
      | "mimeType"
      | "size"
      | "md5"
      | "revision"
      | "created"
      | "modified"
      | "parent"
      | "trashed"
      | "revisions"
      | "tag",
      unknown
    >
  >,
): DriveFile | undefined {
  const { name } = fields;
  const [id, mimeType] = [asText(fields.id), asText(fields.mimeType)];
  if (id === undefined || typeof name !== "string" || mimeType === undefined) return undefined;
  const parentId = asText(fields.parent);
  const parent = parentId === undefined || parentId === rootId ? "" : parentId;
  const md5 = asText(fields.md5);
  const headRevision = asText(fields.revision);
  const modifiedAt = asTime(fields.modified);
  const isFolder = mimeType === FOLDER_TYPE;
  const hasBytes = !mimeType.startsWith(NATIVE_TYPES);
  // Both count: deleting a revision makes an older one the head again.
  const content = [headRevision ?? "", md5 ?? ""].join("/");
  const version = hasBytes ? (content === "/" ? `at ${modifiedAt ?? 0}` : content) : undefined;
  return {
    item: {
      id,
      name,
      kind: isFolder ? "folder" : "file",
      parent,
      contentType: isFolder ? undefined : mimeType,
      size: hasBytes ? toSize(fields.size) : undefined,
      modifiedAt,
      etag: toEtag(name, parentId, isFolder ? "" : (version ?? String(modifiedAt))),
      version,
      ...(hasBytes && content === "/" ? { unsettled: true } : {}),
    },
    isTrashed: fields.trashed === true,
    mimeType,
    parentId,
    createdAt: asTime(fields.created) ?? 0,
    md5,
    headRevision,
    canReadRevisions: fields.revisions === true,
    tag: asText(fields.tag),
  };
}

/**
 * Derives an etag from an item's visible fields. Drive's own counter (`version`) also moves on invisible changes, and v3
 * has no etag.
 */
function toEtag(name: string, parentId: string | undefined, content: string): string {
  return hash("sha256", JSON.stringify([content, parentId, name]), "base64url");
}

/** Sizes are text: they may exceed the safe integers of JSON. */
function toSize(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{1,15}$/.test(value)) return undefined;
  return Number(value);
}

/** Returns whether an item is unchanged since the caller saw it. */
export function isExpected({ item, isTrashed }: DriveFile, expected: Expected): boolean {
  if (isTrashed) return false;
  const { etag, kind, name, parent } = expected;
  return (
    (kind === undefined || kind === item.kind) &&
    (name === undefined || name === item.name) &&
    (parent === undefined || parent === item.parent) &&
    (etag === undefined || etag === item.etag)
  );
}
