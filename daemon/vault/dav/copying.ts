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

/** Copies a file or folder, with its properties. A copy that fails deletes the folder that it has begun, to the trash. */
export async function copyTo(
  context: DavContext,
  source: DavResource,
  { folder, name }: CopyPlace,
  isWhole: boolean,
): Promise<void> {
  const begun: DavFolder[] = [];
  try {
    await copyInto(context, source, folder, name, isWhole, { left: COPIED_MAX, begun });
  } catch (error) {
    await begun[0]?.remove().catch((failure: unknown) => {
      context.log.warn({ err: failure }, "failed to delete a partial copy of a WebDAV request");
    });
    throw error;
  }
}

async function copyInto(
  context: DavContext,
  source: DavResource,
  folder: DavFolder,
  name: string,
  isWhole: boolean,
  progress: { left: number; readonly begun: DavFolder[] },
): Promise<void> {
  progress.left -= 1;
  if (progress.left < 0)
    throw new DavRefusal(507, `A copy has at most ${COPIED_MAX} files and folders.`);
  if (source.kind === "file") {
    const created = await withBytes(source, (upload) => folder.createFile(name, upload));
    await copyProperties(context, source, created);
    return;
  }
  await folder.createFolder(name);
  const created = await folder.find(name);
  if (created?.kind !== "folder") throw noParent();
  progress.begun.push(created);
  await copyProperties(context, source, created);
  if (!isWhole) return;
  for await (const page of source.list())
    for (const each of page) await copyInto(context, each, created, each.name, true, progress);
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
