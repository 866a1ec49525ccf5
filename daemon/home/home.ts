import {
  type DataDirectory,
  holdsDatabase,
  openDataDirectory,
} from "../../storage/data-directory.ts";
import {
  acquireInstanceLock,
  type InstanceHolder,
  type InstanceLock,
} from "../../storage/instance-lock.ts";
import { AppError } from "../errors.ts";
import type { DaemonInput } from "./daemon-input.ts";

/** Locks the data directory for this process. Refuses with `AppError` `conflict` when another process holds it. */
export async function takeLock(
  directory: DataDirectory,
  { process: { pid, mark }, clock }: Pick<DaemonInput, "process" | "clock">,
): Promise<InstanceLock> {
  const outcome = await acquireInstanceLock(directory.root, { pid, mark, startedAt: clock() });
  if (outcome.kind === "acquired") return outcome.lock;
  throw new AppError("conflict", takenText(directory.root, outcome.holder));
}

function takenText(root: string, holder: InstanceHolder | undefined): string {
  const holderName =
    holder === undefined ? "Another process" : `A croft daemon (process ${holder.pid})`;
  const where = holder?.urls.length ? ` and serves ${holder.urls.join(" and ")}` : "";
  return `${holderName} already uses ${root}${where}. Stop it with \`croft daemon stop\`, or choose another folder with CROFT_HOME.`;
}

/**
 * Opens the data directory of a home that no daemon serves and runs `work` while holding its lock. Creates missing folders,
 * those above the home only if `createParents` is set. Refuses with `AppError` `conflict` when another process holds the lock.
 */
export async function withLockedHome<Result>(
  input: DaemonInput,
  { createParents }: { readonly createParents: boolean },
  work: (directory: DataDirectory) => Promise<Result>,
): Promise<Result> {
  const { userId } = input.process;
  const directory = await openDataDirectory(input.paths.dataDirectory, { userId, createParents });
  const lock = await takeLock(directory, input);
  try {
    return await work(directory);
  } finally {
    await lock.release();
  }
}

/** Refuses with `AppError` `not_found` when the home was never started. */
export async function assertStarted(directory: DataDirectory): Promise<void> {
  if (!(await holdsDatabase(directory)))
    throw new AppError("not_found", `${directory.root} holds no database: it was never started`);
}

/** Refuses with `AppError` `invalid_argument` when the database is on a server. */
export function assertEmbedded(databaseUrl: string | undefined): void {
  if (databaseUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the database is on a server (database_url): back it up and restore it with the server's own tools",
    );
}
