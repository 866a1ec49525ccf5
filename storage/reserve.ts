import { open, rm, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { isDiskFull } from "./system-errors.ts";

/** Space for a start and for deletions while the disk is full: some thousand rows, their log and a checkpoint. */
const RESERVE_BYTES = 8 * 1024 * 1024;

/** The reserve is created only where this many times its size is free: it must not fill a nearly full disk. */
const FREE_FACTOR = 4;

/** A file that occupies disk space until it is released when the disk is full. */
export interface Reserve {
  /** Returns whether the space is reserved; otherwise the disk is full or nearly so. */
  isKept(): Promise<boolean>;
  /** Frees the space. Returns whether there was any: then a failed write may be retried. */
  release(): Promise<boolean>;
  /** Reserves the space again where enough is free. Idempotent; after a failure there is only no reserve. */
  refill(): Promise<void>;
}

/** Creates the reserve at `path`. Nothing is written before `refill`. */
export function createReserve(path: string): Reserve {
  const isKept = async () => (await stat(path).catch(() => undefined))?.size === RESERVE_BYTES;
  return {
    isKept,
    async release() {
      const had = await isKept();
      await rm(path, { force: true });
      return had;
    },
    async refill() {
      if (await isKept()) return;
      const { bavail, bsize } = await statfs(dirname(path));
      if (bavail * bsize < FREE_FACTOR * RESERVE_BYTES) return;
      await rm(path, { force: true });
      const file = await open(path, "wx", 0o600);
      try {
        // Written, not only extended: a sparse file occupies no space.
        await file.writeFile(Buffer.alloc(RESERVE_BYTES, 0xff));
        await file.sync();
      } catch (error) {
        await rm(path, { force: true });
        if (!isDiskFull(error)) throw error;
      } finally {
        await file.close();
      }
    },
  };
}
