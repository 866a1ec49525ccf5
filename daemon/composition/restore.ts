import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import {
  type DataDirectory,
  openDataDirectory,
  toDataDirectory,
} from "../../storage/data-directory.ts";
import {
  listCopies,
  restoreDatabase,
  type RestoredDatabase,
} from "../../storage/restore-database.ts";
import { AppError } from "../errors.ts";
import type { DaemonInput } from "../main.ts";
import { takeLock } from "./stores.ts";

/** See `restore` in main.ts. */
export async function restoreCopy(
  { settings, paths, clock, process }: DaemonInput,
  copy: string,
): Promise<RestoredDatabase> {
  if (settings.databaseUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the database is on a server (database_url): restore it there, with the server's own tools",
    );
  // First, as nothing may be made where there is nothing to restore.
  const path = await findCopy(copy, toDataDirectory(paths.dataDirectory));
  const { pid, mark, userId } = process;
  const directory = await openDataDirectory(paths.dataDirectory, { userId, createParents: false });
  const lock = await takeLock(directory, { pid, mark, startedAt: clock() });
  try {
    return await restoreDatabase(path, directory, clock);
  } finally {
    await lock.release();
  }
}

async function findCopy(copy: string, directory: DataDirectory): Promise<string> {
  const copies = await listCopies(directory);
  const name = copy === "latest" ? copies[0] : copy;
  if (name !== undefined && isAbsolute(name) && existsSync(name)) return name;
  if (name !== undefined && copies.includes(name)) return join(directory.backups, name);
  const known = copies.length === 0 ? "there are none" : copies.join(", ");
  throw new AppError(
    "not_found",
    `there is no copy ${JSON.stringify(copy)}; in ${directory.backups}: ${known}`,
  );
}
