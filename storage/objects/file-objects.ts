import { constants } from "node:fs";
import {
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  unlink,
  type FileHandle,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ObjectIdentity, type ObjectStore, OBJECT_NAME } from "./object-store.ts";
import { createLocks } from "../locks.ts";
import { createOwner } from "../owner.ts";
import { pump, sharedBuffers } from "../pump.ts";
import { syncFolder } from "../sync.ts";
import { createObjectWriter, createPlainWriter, failWriting } from "./object-writer.ts";
import { createVerifiedOpen, type ObjectDamage, type OpenedCopy } from "./verified-reads.ts";

/** An object store of files, whose objects can be moved to another store. */
export interface FileObjects extends ObjectStore {
  /** Lists all objects. */
  list(): AsyncIterable<{ readonly sha256: string; readonly size: number }>;
  /** Removes an object, also one in use: the caller has copied it to another store. */
  remove(sha256: string): Promise<void>;
}

export interface FileObjectsDeps {
  /** The folder of the objects; created when it is missing. */
  readonly folder: string;
  /** The folder of unfinished uploads, on the same file system. Recovery on startup empties it. */
  readonly tmp: string;
  /** Returns a unique text that is valid as a file name. */
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Called for every object that does not match its SHA-256. */
  readonly onDamaged: (damage: ObjectDamage) => void;
}

const PART = /^[0-9a-f]{2}$/;

/** Damaged files move here, below the folder of objects, as `<sha256>-<id>`; they are never read or removed. */
const QUARANTINE = "quarantine";

/**
 * An object store that keeps every object as a file, `<first two digits>/<next two>/<sha256>`. Publishing makes the
 * same system calls whether or not equal bytes exist, so that its duration does not reveal whether another user has
 * stored them.
 */
export function createFileObjects(deps: FileObjectsDeps): FileObjects {
  const { folder, tmp, newId, clock, onDamaged } = deps;
  const { withLocks } = createLocks();
  const pathOf = (key: string) => join(folder, key.slice(0, 2), key.slice(2, 4), key);

  async function openCopy(
    sha256: string,
    size: number,
    range?: { readonly start: number; readonly end: number },
  ): Promise<OpenedCopy | undefined> {
    if (!OBJECT_NAME.test(sha256)) return undefined;
    await using owner = createOwner();
    const handle = await openFile(pathOf(sha256));
    if (handle === undefined) return undefined;
    owner.own(handle);
    const found = await handle.stat();
    if (!found.isFile() || found.size !== size) return undefined;
    const stream = owner.handOver(handle).createReadStream(range);
    // The caller may destroy it before anything listens; a late error must not end the process.
    stream.on("error", () => undefined);
    const span = { start: range?.start ?? 0, end: Math.min(range?.end ?? Infinity, size - 1) };
    return {
      id: toCopyId(found),
      stream,
      sendTo: (to, check) => pump(handle, span, to, sharedBuffers, check),
    };
  }

  // A sweep that has just found the old file unused must not remove the new one.
  const publish = (path: string, { sha256 }: ObjectIdentity) =>
    withLocks([sha256], async () => {
      prepared ??= prepareFolders(folder);
      await prepared.catch((error: unknown) => {
        prepared = undefined;
        throw error;
      });
      await place(path, pathOf(sha256));
    });
  let prepared: Promise<void> | undefined;

  const quarantine = (sha256: string, copyId: string) =>
    withLocks([sha256], async () => {
      const found = await stat(pathOf(sha256)).catch(ifMissing);
      if (found === undefined || toCopyId(found) !== copyId) return "gone";
      const target = join(folder, QUARANTINE);
      await mkdir(target, { recursive: true, mode: 0o700 });
      await rename(pathOf(sha256), join(target, `${sha256}-${newId()}`));
      return "quarantined";
    });

  return {
    create: () => createObjectWriter({ tmp, newId }, publish),
    createPlain: () => createPlainWriter({ tmp, newId }, publish),

    open: createVerifiedOpen({ openCopy, quarantine, onDamaged, clock }),

    async has(sha256, size) {
      if (!OBJECT_NAME.test(sha256)) return false;
      const found = await lstat(pathOf(sha256)).catch(ifMissing);
      return found?.isFile() === true && found.size === size;
    },

    async sweep({ before, isInUse, signal }) {
      let objects = 0;
      let bytes = 0;
      for await (const key of listKeys(folder)) {
        signal?.throwIfAborted();
        await withLocks([key], async () => {
          const found = await stat(pathOf(key)).catch(ifMissing);
          if (found === undefined || found.mtimeMs >= before || (await isInUse(key))) return;
          await unlink(pathOf(key)).catch(ifMissing);
          objects += 1;
          bytes += found.size;
        });
      }
      return { objects, bytes };
    },

    async *list() {
      for await (const sha256 of listKeys(folder)) {
        const found = await stat(pathOf(sha256)).catch(ifMissing);
        if (found?.isFile() === true) yield { sha256, size: found.size };
      }
    },

    remove: (sha256) => withLocks([sha256], () => unlink(pathOf(sha256)).catch(ifMissing)),
  };
}

/** Creates the folders of the first level. There are 256. */
async function prepareFolders(folder: string): Promise<void> {
  for (let number = 0; number < 256; number += 1)
    await mkdir(join(folder, number.toString(16).padStart(2, "0")), {
      recursive: true,
      mode: 0o700,
    }).catch(failWriting);
  await syncFolder(folder);
}

/**
 * Moves a file to its final path, whose folder is created when it is missing. It replaces equal bytes, which repairs damage
 * and renews the object's age.
 */
async function place(from: string, to: string): Promise<void> {
  const parent = dirname(to);
  await mkdir(parent, { mode: 0o700 }).catch(ifTaken);
  // While it is open, the system does not free its blocks, which takes longer the larger it is.
  const replaced = await openFile(to).catch(() => undefined);
  try {
    await rename(from, to).catch(failWriting);
    // A new folder must outlast a crash as well.
    await Promise.all([syncFolder(dirname(parent)), syncFolder(parent)]);
  } finally {
    // Not awaited, for the same reason. Nothing was written to it, so an error loses nothing.
    replaced?.close().catch(() => undefined);
  }
}

/** Identifies a file and changes when it is replaced or written to; programs cannot set the change time, unlike mtime. */
const toCopyId = ({ ino, ctimeMs }: { readonly ino: number; readonly ctimeMs: number }) =>
  `${ino}-${ctimeMs}`;

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Lists the SHA-256 of the objects in a folder, in no useful order. */
export async function* listKeys(folder: string): AsyncIterable<string> {
  for (const first of await listNames(folder, PART))
    for (const second of await listNames(join(folder, first), PART))
      yield* await listNames(join(folder, first, second), OBJECT_NAME);
}

async function listNames(folder: string, pattern: RegExp): Promise<string[]> {
  const names = (await readdir(folder).catch(ifMissing)) ?? [];
  return names.filter((name) => pattern.test(name));
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") throw error;
  return undefined;
}

function ifTaken(error: unknown): void {
  if (codeOf(error) !== "EEXIST") failWriting(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
