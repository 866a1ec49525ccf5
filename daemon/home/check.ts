import { toDataDirectory } from "../../storage/data-directory.ts";
import {
  type CheckFinding,
  checkHome,
  type CheckHomeOptions,
} from "../../storage/check/check-home.ts";
import {
  type DeletedObjects,
  deleteUnreferencedObjects,
} from "../../storage/check/delete-unreferenced.ts";
import { AppError } from "../errors.ts";
import type { DaemonInput } from "./daemon-input.ts";
import { assertEmbedded, assertStarted, takeLock } from "./home.ts";

/**
 * Checks a home with an embedded database and yields its faults. With `repair` it holds the lock of the home. Refuses with
 * `AppError` `invalid_argument` when the database is on a server, `not_found` without a home, `conflict` when a daemon holds a
 * home to repair.
 */
export async function* checkStores(
  input: DaemonInput,
  options: Pick<CheckHomeOptions, "git" | "repair" | "signal" | "onProgress">,
): AsyncGenerator<CheckFinding, void, void> {
  const { settings, paths, clock } = input;
  assertEmbedded(settings.databaseUrl);
  const directory = toDataDirectory(paths.dataDirectory);
  await assertStarted(directory);
  const lock = options.repair ? await takeLock(directory, input) : undefined;
  try {
    yield* checkHome({
      directory,
      repositories: settings.repositoriesDir,
      uploads: settings.uploadsDir,
      hasObjectFiles: settings.objectsUrl === undefined,
      clock,
      ...options,
    });
  } finally {
    await lock?.release();
  }
}

/** Deletes the objects without references of a stopped home. Refuses as `checkStores` with `repair`, and a bucket too. */
export async function collectObjects(
  input: DaemonInput,
  options: Omit<Parameters<typeof deleteUnreferencedObjects>[1], "clock">,
): Promise<DeletedObjects> {
  const { settings, paths, clock } = input;
  assertEmbedded(settings.databaseUrl);
  // Another daemon may be writing to it.
  if (settings.objectsUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the objects are in a bucket: the daily task cleanup_packages deletes those that nothing refers to",
    );
  const directory = toDataDirectory(paths.dataDirectory);
  await assertStarted(directory);
  const lock = await takeLock(directory, input);
  try {
    return await deleteUnreferencedObjects(directory, { ...options, clock });
  } finally {
    await lock.release();
  }
}
