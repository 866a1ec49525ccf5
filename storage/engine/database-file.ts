import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { StorageError } from "./database.ts";

/**
 * Records device and inode of the database at `path` and of its log. A process keeps an open file after its name is removed,
 * and SQLite continues to write to it without an error. Checks that the files of an open database are still those at their paths.
 */
export function watchDatabaseFile(path: string) {
  const opened = identify(path);
  const log = `${path}-wal`;
  const openedLog = identify(log);
  return {
    /** Throws `StorageError` `detached` when a file was removed or replaced: writes to it would be lost. */
    assertInPlace(): void {
      if (identify(path) !== opened)
        throw new StorageError(
          "detached",
          `${path} was removed or replaced while it was open: stop the daemon, then restore a copy with \`croft daemon restore --database latest\``,
        );
      if (identify(log) !== openedLog)
        throw new StorageError(
          "detached",
          `${log} was removed or replaced while it was open: restart the daemon, which writes the changes in it to the database`,
        );
    },
  };
}

function identify(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/**
 * Maximum size of a file that is checked at start. It takes some ten milliseconds; a larger file would delay the
 * start.
 */
const CHECKED_BYTES_MAX = 32 * 1024 * 1024;

/** Checks the pages of a database whose file is small enough. Throws `corrupt` when a page is damaged. */
export async function assertIntact(db: {
  readonly path: string;
  quickCheck(): Promise<string[]>;
}): Promise<void> {
  if (db.path === ":memory:" || (await stat(db.path)).size > CHECKED_BYTES_MAX) return;
  if ((await db.quickCheck()).length > 0)
    throw new StorageError(
      "corrupt",
      `${db.path} is damaged: restore a backup with \`croft daemon restore --database latest\``,
    );
}
