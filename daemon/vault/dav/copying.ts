import { Readable } from "node:stream";
import { createOwner } from "../../../storage/owner.ts";
import {
  deleteDavProperties,
  listDavProperties,
  putDavProperty,
} from "../../../storage/tables/vault/dav-properties.ts";
import type { DavContext } from "./context.ts";
import { DavRefusal, noParent } from "./refusals.ts";
import type { DavFile, DavFolder, DavResource, DavUpload } from "./tree.ts";

/** Most files and folders of one copy. */
const COPIED_MAX = 10_000;

/** Where a copy is written: at a name of the folder that is free. */
export interface CopyPlace {
  readonly folder: DavFolder;
  readonly name: string;
}

/**
 * Copies a file or folder, with its properties. Returns what was copied, a folder after everything in it. A copy that fails
 * deletes what it has created, and nothing that others have put beside it.
 */
export async function copyTo(
  context: DavContext,
  source: DavResource,
  { folder, name }: CopyPlace,
  isWhole: boolean,
): Promise<readonly DavResource[]> {
  const progress: CopyProgress = { left: COPIED_MAX, created: [], copied: [] };
  try {
    await copyInto(context, source, folder, name, isWhole, progress);
  } catch (error) {
    await removeCopied(progress.created.toReversed()).catch((failure: unknown) => {
      context.log.warn({ err: failure }, "failed to delete a partial copy of a WebDAV request");
    });
    throw error;
  }
  return progress.copied;
}

/** Thrown by `removeCopied`; `removed` counts the files and folders that were deleted before. */
export class RemovalFailed extends Error {
  readonly removed: number;

  constructor(removed: number, cause: unknown) {
    super("files of a copied folder were not deleted", { cause });
    this.name = "RemovalFailed";
    this.removed = removed;
  }
}

/**
 * Deletes files and folders that were listed before, each after everything in it: only the versions that were seen, and
 * folders only when nothing has come into them since. Throws `RemovalFailed` for the first that stays.
 */
export async function removeCopied(copied: readonly DavResource[]): Promise<void> {
  let removed = 0;
  try {
    for (const resource of copied) {
      if (resource.kind === "file") await resource.remove(true);
      else if (!(await resource.removeIfEmpty()))
        throw new DavRefusal(412, `Something has come into "${resource.name}" meanwhile.`);
      removed += 1;
    }
  } catch (error) {
    throw new RemovalFailed(removed, error);
  }
}

interface CopyProgress {
  left: number;
  /** What the copy has created, a folder before everything in it. */
  readonly created: DavResource[];
  readonly copied: DavResource[];
}

async function copyInto(
  context: DavContext,
  source: DavResource,
  folder: DavFolder,
  name: string,
  isWhole: boolean,
  progress: CopyProgress,
): Promise<void> {
  progress.left -= 1;
  if (progress.left < 0)
    throw new DavRefusal(507, `A copy has at most ${COPIED_MAX} files and folders.`);
  if (source.kind === "file") {
    const created = await withBytes(source, (upload) => folder.createFile(name, upload));
    progress.created.push(created);
    await copyProperties(context, source, created);
    progress.copied.push(source);
    return;
  }
  await folder.createFolder(name);
  const created = await folder.find(name);
  if (created?.kind !== "folder") throw noParent();
  progress.created.push(created);
  await copyProperties(context, source, created);
  if (isWhole)
    for await (const page of source.list())
      for (const each of page) await copyInto(context, each, created, each.name, true, progress);
  progress.copied.push(source);
}

/** Opens the bytes of a file for an upload, and closes them after it. */
export async function withBytes<T>(
  file: DavFile,
  work: (upload: DavUpload) => Promise<T>,
): Promise<T> {
  const { bytes } = await file.open();
  try {
    await using owner = createOwner();
    const content = owner.own(
      bytes.buffer === undefined ? await bytes.open() : Readable.from([Buffer.from(bytes.buffer)]),
    );
    return await work({ content, size: bytes.size, contentType: file.contentType });
  } finally {
    bytes.release?.();
  }
}

export async function copyProperties(
  { db, newId }: DavContext,
  { holder: from }: DavResource,
  { holder: to }: DavResource,
): Promise<void> {
  if (to === undefined) return;
  const properties = from === undefined ? [] : await listDavProperties(db, [from]);
  await db.transaction(async (tx) => {
    await deleteDavProperties(tx, to);
    for (const { namespace, name, value } of properties)
      await putDavProperty(tx, to, { id: newId(), namespace, name, value });
  });
}
