import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type DataDirectory, toDataDirectory } from "../../storage/data-directory.ts";
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
    restoreDatabase(path, directory, clock),
  );
}

async function findCopy(copy: string, directory: DataDirectory): Promise<string> {
  const copies = await listCopies(directory);
  const name = copy === "latest" ? copies[0] : copy;
  if (name !== undefined && isAbsolute(name) && existsSync(name)) return name;
  if (name !== undefined && copies.includes(name)) return join(directory.backups, name);
  const known = copies.length === 0 ? "it holds no copy" : copies.join(", ");
  throw new AppError(
    "not_found",
    `there is no copy ${JSON.stringify(copy)}; in ${directory.backups}: ${known}`,
  );
}
