import { closeSync, fdatasync, openSync } from "node:fs";
import { promisify } from "node:util";
import { isDiskFull } from "../system-errors.ts";
import { StorageError } from "./database.ts";

/** Syncs an open file. Runs in libuv's pool, which also empties the cache of the drive on macOS. */
export type SyncDescriptor = (descriptor: number) => Promise<void>;

/** The syncs of a database's write-ahead log by croft instead of SQLite. */
export type DatabaseLog = ReturnType<typeof openDatabaseLog>;

/**
 * Opens the log of the database at `path`, to sync it without blocking the thread. SQLite must have it open: it deletes or
 * replaces the log only when the last connection closes, so the descriptor is that of SQLite's log for the life of
 * the connections. It locks the database and the shared memory, never the log, so closing a descriptor of it releases no lock.
 *
 * A commit whose frames a checkpoint has moved is durable, too: SQLite syncs the log before it writes to the database, and
 * the database before it writes over the log.
 */
export function openDatabaseLog(path: string, sync: SyncDescriptor = promisify(fdatasync)) {
  const descriptor = openSync(`${path}-wal`, "r+");
  let failure: StorageError | undefined;

  /** Throws the failure of an earlier sync. */
  function assertSynced(): void {
    if (failure !== undefined) throw failure;
  }

  return {
    assertSynced,
    /**
     * Resolves when the commits before the call are on the disk. After a failure each call fails: the system has dropped
     * the bytes that it could not write and a second sync would succeed without them. The next start reads
     * the log by its checksums and writes what is complete into the database.
     * @throws StorageError `full` or `failed`
     */
    async sync(): Promise<void> {
      assertSynced();
      try {
        await sync(descriptor);
      } catch (error) {
        failure = toSyncError(error, path);
        throw failure;
      }
    },
    /** Returns whether no sync has failed. */
    isSynced: (): boolean => failure === undefined,
    close(): void {
      closeSync(descriptor);
    },
  };
}

function toSyncError(error: unknown, path: string): StorageError {
  const { code } = error as NodeJS.ErrnoException;
  const isFull = isDiskFull(error);
  const remedy = isFull ? "free some disk space" : "check the disk";
  return new StorageError(
    isFull ? "full" : "failed",
    `${path}-wal could not be written to the disk (${code}), so its latest changes may not survive a power failure: ${remedy}, then restart the daemon`,
    { cause: error },
  );
}
