import { StorageError } from "../../storage/engine/database.ts";

/** Returns the value of `work`, or undefined when it has not settled after `ms`; its later result is then ignored. */
export async function withinMs<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a read waits for a write that it can do without: longer than writes take, unless another process holds the database. */
export const PATIENCE_MS = 100;

/**
 * Runs a write that a read or a sign-in can do without, such as the time of the last use. Resolves after `PATIENCE_MS` at
 * the latest, while another process holds the database; the write is still made if that ends soon. A write that the
 * database refuses, for example on a full disk, is dropped.
 */
export async function writeIfPossible(write: () => Promise<unknown>): Promise<void> {
  const writing = write().catch((error: unknown) => {
    if (!(error instanceof StorageError)) throw error;
  });
  await withinMs(PATIENCE_MS, writing);
}
