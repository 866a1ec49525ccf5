import { hash } from "node:crypto";
import { asObject, asText, asTime, type JsonObject } from "../json.ts";
import type { Expected, ProviderItem } from "../provider.ts";

/** A file or folder as Drive has it, whichever version of the API told of it. */
export interface DriveFile {
  readonly item: ProviderItem;
  readonly isTrashed: boolean;
  readonly mimeType: string;
  /** The folder that holds it, by its real id; undefined for what was shared and is nowhere in this drive. */
  readonly parentId: string | undefined;
  /** Epoch milliseconds; decides who had a name first. 0 where it was not asked for. */
  readonly createdAt: number;
  readonly md5: string | undefined;
  readonly headRevision: string | undefined;
  /** Whether its revisions can be read, so that a read can be pinned to one. */
  readonly canReadRevisions: boolean;
  /** What v2 compares with `If-Match`. */
  readonly tag: string | undefined;
}

export const FOLDER_TYPE = "application/vnd.google-apps.folder";
const NATIVE_TYPES = "application/vnd.google-apps.";

/** What is asked for of a file in v3. */
export const FIELDS =
  "id,name,mimeType,size,md5Checksum,headRevisionId,createdTime,modifiedTime,parents,trashed,capabilities/canReadRevisions";
/** The same in v2, which calls some of it otherwise, and its tag. */
export const GUARD_FIELDS =
  "id,title,mimeType,fileSize,md5Checksum,headRevisionId,createdDate,modifiedDate,parents(id),labels(trashed),etag";

/** A file of v3; undefined when it is not one. `rootId` is the id of what people call their drive. */
export function toDriveFile(said: unknown, rootId: string): DriveFile | undefined {
  const value = asObject(said);
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

/** A file of v2, with the tag that guards it. */
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
  said: Readonly<
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
  const { name } = said;
  const [id, mimeType] = [asText(said.id), asText(said.mimeType)];
  if (id === undefined || typeof name !== "string" || mimeType === undefined) return undefined;
  const parentId = asText(said.parent);
  const parent = parentId === undefined || parentId === rootId ? "" : parentId;
  const md5 = asText(said.md5);
  const headRevision = asText(said.revision);
  const modifiedAt = asTime(said.modified);
  const isFolder = mimeType === FOLDER_TYPE;
  const hasBytes = !mimeType.startsWith(NATIVE_TYPES);
  // Both count: a revision can be taken back, which leaves an older one as the head.
  const content = [headRevision ?? "", md5 ?? ""].join("/");
  const version = hasBytes ? (content === "/" ? `at ${modifiedAt ?? 0}` : content) : undefined;
  return {
    item: {
      id,
      name,
      kind: isFolder ? "folder" : "file",
      parent,
      contentType: isFolder ? undefined : mimeType,
      size: hasBytes ? toSize(said.size) : undefined,
      modifiedAt,
      etag: toEtag(name, parentId, isFolder ? "" : (version ?? String(modifiedAt))),
      version,
      ...(hasBytes && content === "/" ? { unsettled: true } : {}),
    },
    isTrashed: said.trashed === true,
    mimeType,
    parentId,
    createdAt: asTime(said.created) ?? 0,
    md5,
    headRevision,
    canReadRevisions: said.revisions === true,
    tag: asText(said.tag),
  };
}

/**
 * What a person can see of an item, in one word. Drive's own counter (`version`) moves on changes that nobody sees, and v3
 * has no tag.
 */
function toEtag(name: string, parentId: string | undefined, content: string): string {
  return hash("sha256", JSON.stringify([content, parentId, name]), "base64url");
}

/** Sizes come as text: they may be larger than a number of JSON is safe to be. */
function toSize(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d{1,15}$/.test(value)) return undefined;
  return Number(value);
}

/** Whether an item is still what the caller saw. */
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
