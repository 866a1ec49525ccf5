// storage/objects: package files by SHA-256, as local files (object-store.ts) or in a bucket (bucket-objects.ts).
import { constants } from "node:fs";
import { mkdir, open, readdir, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { createKeyLocks } from "../locks.ts";
import { syncFolder } from "../sync.ts";
import { createObjectWriter, failWriting } from "./object-writer.ts";
import { createVerifiedOpen, type ObjectDamage, type OpenedCopy } from "./verified-reads.ts";

/** What is known of bytes once all of them are written; digests are lower-case hex. */
export interface ObjectFacts {
  readonly size: number;
  /** Names the object. */
  readonly sha256: string;
  readonly sha512: string;
  readonly sha1: string;
  readonly md5: string;
}

/** Bytes on their way in. Ends with `publish` or `discard`, whatever happens in between. */
export interface ObjectWriter {
  /** How many bytes were written so far. */
  readonly size: number;
  /** Adds bytes. Throws `StorageError` `full` when the disk is. */
  write(chunk: Uint8Array): Promise<void>;
  /** Says that all bytes are there; nothing can be added afterwards. */
  seal(): Promise<ObjectFacts>;
  /** Makes the sealed bytes an object, durably. Where it throws, nothing can be told. It stays at least as long as `sweep` is told to leave the young alone. */
  publish(): Promise<void>;
  /** Forgets the bytes, unless they were published. May be called at any time and again. */
  discard(): Promise<void>;
}

/**
 * Bytes that are named by their SHA-256: equal bytes are kept once in the long run. An object is not removed by whoever
 * used it, but swept when it is old and nobody refers to it, so that a crash at any point leaves nothing wrong behind.
 * `object-store.ts` keeps them as files, `bucket-objects.ts` in a bucket. Where that cannot be reached, everything here
 * throws `StorageError` `busy`.
 */
export interface ObjectStore {
  create(): Promise<ObjectWriter>;
  /**
   * Opens an object, or the part from `start` to `end`, both included. Returns undefined when the object is missing, has
   * another size than `size`, or does not match its SHA-256. The stream of a large object that does not match ends with
   * `DamagedObject` before its last chunk; a stream whose connection closes early ends with an error as well.
   */
  open(
    sha256: string,
    size: number,
    range?: { readonly start: number; readonly end: number },
  ): Promise<Readable | undefined>;
  /** Whether an object of this size exists. Its bytes are not read. */
  has(sha256: string, size: number): Promise<boolean>;
  /** Removes the objects that were written before a moment (epoch milliseconds) and that nobody uses. */
  sweep(options: {
    readonly before: number;
    readonly isInUse: (sha256: string) => Promise<boolean>;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly objects: number; readonly bytes: number }>;
}

/** Objects as files, which can be moved elsewhere. */
export interface FileObjects extends ObjectStore {
  /** Everything that is here. */
  list(): AsyncIterable<{ readonly sha256: string; readonly size: number }>;
  /** Removes an object whoever uses it: its bytes are elsewhere. */
  remove(sha256: string): Promise<void>;
}

export interface ObjectStoreDeps {
  /** Where the objects are; made when it is missing. */
  readonly folder: string;
  /** Where bytes wait that are on their way in, on the same file system. Emptied by others after a crash. */
  readonly tmp: string;
  /** Unique, and fit for a file name. */
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Called for every object that does not match its SHA-256. */
  readonly onDamaged: (damage: ObjectDamage) => void;
}

/** What objects are called. */
export const OBJECT_NAME = /^[0-9a-f]{64}$/;
const PART = /^[0-9a-f]{2}$/;

/** Damaged files move here, below the folder of objects, as `<sha256>-<id>`; they are never read or removed. */
const QUARANTINE = "quarantine";

/** An object store that keeps every object as a file, `<first two digits>/<next two>/<sha256>`. */
export function createObjectStore(deps: ObjectStoreDeps): FileObjects {
  const { folder, tmp, newId, clock, onDamaged } = deps;
  const withLock = createKeyLocks();
  const pathOf = (key: string) => join(folder, key.slice(0, 2), key.slice(2, 4), key);

  async function openCopy(
    sha256: string,
    size: number,
    range?: { readonly start: number; readonly end: number },
  ): Promise<OpenedCopy | undefined> {
    if (!OBJECT_NAME.test(sha256)) return undefined;
    const handle = await openFile(pathOf(sha256));
    if (handle === undefined) return undefined;
    let copy: OpenedCopy | undefined;
    try {
      const found = await handle.stat();
      if (!found.isFile() || found.size !== size) return undefined;
      const stream = handle.createReadStream(range);
      // The caller may destroy it before anything listens; a late error must not end the process.
      stream.on("error", () => undefined);
      copy = { id: toCopyId(found), stream };
      return copy;
    } finally {
      if (copy === undefined) await handle.close();
    }
  }

  const quarantine = (sha256: string, copyId: string) =>
    withLock(sha256, async () => {
      const found = await stat(pathOf(sha256)).catch(ifMissing);
      if (found === undefined || toCopyId(found) !== copyId) return "gone";
      const target = join(folder, QUARANTINE);
      await mkdir(target, { recursive: true, mode: 0o700 });
      await rename(pathOf(sha256), join(target, `${sha256}-${newId()}`));
      return "quarantined";
    });

  return {
    create: () =>
      createObjectWriter({ tmp, newId }, (path, { sha256 }) =>
        // A sweep that has just found the old file unused must not remove the new one.
        withLock(sha256, () => place(path, pathOf(sha256))),
      ),

    async has(sha256, size) {
      const copy = await openCopy(sha256, size);
      copy?.stream.destroy();
      return copy !== undefined;
    },

    open: createVerifiedOpen({ openCopy, quarantine, onDamaged, clock }),

    async sweep({ before, isInUse, signal }) {
      let objects = 0;
      let bytes = 0;
      for await (const key of listKeys(folder)) {
        signal?.throwIfAborted();
        await withLock(key, async () => {
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

    remove: (sha256) => withLock(sha256, () => unlink(pathOf(sha256)).catch(ifMissing)),
  };
}

/** Equal bytes may lie there already: they are replaced, which also mends what was damaged and makes the file young. */
async function place(from: string, to: string): Promise<void> {
  const parent = dirname(to);
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") failWriting(error);
    await mkdir(parent, { recursive: true, mode: 0o700 }).catch(failWriting);
    await rename(from, to).catch(failWriting);
    // The new folders must outlast a crash as well.
    await syncFolder(dirname(parent));
    await syncFolder(dirname(dirname(parent)));
  }
  await syncFolder(parent);
}

/** Changes when the file is replaced or written to; unlike the time of modification, nobody can set that of change. */
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

async function* listKeys(folder: string): AsyncIterable<string> {
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

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
