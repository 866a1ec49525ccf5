import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type DataDirectory, toDataDirectory } from "../../storage/data-directory.ts";
import { StorageError } from "../../storage/engine/database.ts";
import {
  listCopies,
  restoreDatabase,
  type RestoredDatabase,
} from "../../storage/restore-database.ts";
import { AppError } from "../errors.ts";
import type { DaemonInput } from "./daemon-input.ts";
import { withLockedHome } from "./home.ts";

/**
 * Replaces the database by a copy: a name in `backups/`, `latest`, or an absolute path. Refuses with `AppError`
 * `invalid_argument` when the database is on a server, `not_found` for a missing copy, `conflict` when a daemon holds the home.
 */
export async function restoreCopy(input: DaemonInput, copy: string): Promise<RestoredDatabase> {
  const { settings, paths, clock } = input;
  if (settings.databaseUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the database is on a server (database_url): restore it there, with the server's own tools",
    );
  // First: without a copy to restore nothing must be created.
  const path = await findCopy(copy, toDataDirectory(paths.dataDirectory));
  return withLockedHome(input, { createParents: false }, (directory) =>
    restoreDatabase(path, directory, clock).catch(async (error: unknown) => {
      throw error instanceof StorageError ? await withOtherCopies(error, path, directory) : error;
    }),
  );
}

async function findCopy(copy: string, directory: DataDirectory): Promise<string> {
  const { made, replaced } = await listCopies(directory);
  const name = copy === "latest" ? made[0] : copy;
  if (name !== undefined && isAbsolute(name) && existsSync(name)) return name;
  const copies = [...made, ...replaced];
  if (name !== undefined && copies.includes(name)) return join(directory.backups, name);
  const missing = copy === "latest" ? "copy" : `copy ${JSON.stringify(copy)}`;
  throw new AppError(
    "not_found",
    copies.length === 0
      ? `there is no copy of the database in ${directory.backups}`
      : `there is no ${missing}; in ${directory.backups}: ${copies.join(", ")}`,
  );
}

/** Adds the names of the other copies to a refusal that asks for one. */
async function withOtherCopies(
  error: StorageError,
  path: string,
  directory: DataDirectory,
): Promise<StorageError> {
  if (!error.message.endsWith("take another copy")) return error;
  const { made } = await listCopies(directory);
  const others = made.filter((name) => join(directory.backups, name) !== path);
  const known = others.length === 0 ? "none" : others.join(", ");
  return new StorageError(error.code, `${error.message}; in ${directory.backups}: ${known}`, {
    cause: error,
  });
}
