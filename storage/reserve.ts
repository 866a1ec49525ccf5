import { open, rm, stat, statfs, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { createLocks } from "./locks.ts";
import { isDiskFull } from "./system-errors.ts";

/** Space for a start and for deletions while the disk is full: some thousand rows, their log and a checkpoint. */
const RESERVE_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** The reserve is created only if this many times its size is free, because it must not fill a nearly full disk. */
const FREE_FACTOR = 4;

/** Free space below which the disk counts as full: the database's log grows by this much between two checkpoints. */
const FULL_BELOW_BYTES = 1024 * 1024;

/** A file that occupies disk space until the space is needed to clean up a full disk. */
export type Reserve = ReturnType<typeof createReserve>;

/** Creates the reserve at `path`. Nothing is written before `refill`. */
export function createReserve(path: string) {
  const locks = createLocks();
  const exclusively = <T>(work: () => Promise<T>) => locks.withLocks([path], work);
  const reservedBytes = async () => (await stat(path).catch(() => undefined))?.size ?? 0;
  const freeBytes = async () => {
    const { bavail, bsize } = await statfs(dirname(path));
    return bavail * bsize;
  };

  /** Occupies as much of the reserve as is free; a disk that is full meanwhile leaves a smaller one. */
  async function occupy(): Promise<void> {
    await rm(path, { force: true });
    const file = await open(path, "wx", 0o600);
    try {
      await fill(file);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    } finally {
      await file.close();
    }
  }

  return {
    /** Returns whether the reserve is complete and the disk has space beyond it. */
    async hasSpace(): Promise<boolean> {
      return (await reservedBytes()) === RESERVE_BYTES && (await freeBytes()) >= FULL_BELOW_BYTES;
    },
    /**
     * Frees the space, runs `work`, and then reserves the rest again, so that other writes never use it up. Calls run
     * one after another. Rejects with `failure` when no space is reserved.
     */
    spend<T>(failure: unknown, work: () => Promise<T>): Promise<T> {
      return exclusively(async () => {
        if ((await reservedBytes()) === 0) throw failure;
        await rm(path, { force: true });
        try {
          return await work();
        } finally {
          // Without a reserve the next deletion fails, but this one has succeeded.
          await occupy().catch(() => undefined);
        }
      });
    },
    /** Reserves the space again if enough is free. Idempotent; a failure leaves no reserve and no other harm. */
    refill(): Promise<void> {
      return exclusively(async () => {
        const reserved = await reservedBytes();
        if (reserved === RESERVE_BYTES) return;
        if (reserved + (await freeBytes()) < FREE_FACTOR * RESERVE_BYTES) return;
        await occupy();
      });
    },
  };
}

/** Writes the bytes, not only the length: a sparse file occupies no space. */
async function fill(file: FileHandle): Promise<void> {
  const chunk = Buffer.alloc(CHUNK_BYTES, 0xff);
  for (let written = 0; written < RESERVE_BYTES; written += CHUNK_BYTES) {
    const { bytesWritten } = await file.write(chunk, 0, CHUNK_BYTES, written);
    if (bytesWritten < CHUNK_BYTES) break;
  }
  await file.sync();
}
