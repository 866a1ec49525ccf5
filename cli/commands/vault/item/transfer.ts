import type { Stats } from "node:fs";
import type { Client } from "../../../client/client.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { toSizeText } from "../../../output/cells.ts";
import type { Progress, Transfer } from "../../../output/progress.ts";
import type { Outcome } from "../../../support/batch.ts";
import type { WireItem } from "../../../support/items.ts";
import type { FlagValues } from "../../../tree/command.ts";

/** Options that `upload` and `download` share. */
export interface TransferOptions {
  /** Folders are taken with everything in them. */
  readonly recursive: boolean;
  /** Skip files that exist with the same size and time. */
  readonly skipExisting: boolean;
  /** Number of concurrent transfers. */
  readonly transfers: number;
}

export const transferFlags = {
  "-r, --recursive": "include folders and their contents",
  "--skip-existing": "skip existing files of the same size that are not older",
  "--transfers <number>": {
    help: "number of concurrent transfers, 1 to 32",
    parse: toCount,
    default: 4,
  },
} as const;

export function toTransferOptions(flags: FlagValues<typeof transferFlags>): TransferOptions {
  const { recursive, skipExisting, transfers } = flags;
  return { recursive: recursive === true, skipExisting: skipExisting === true, transfers };
}

/** Files that wait for their place in a batch or for its outcome. */
export const BATCHED_AT_ONCE = 256;

/** Runs at most `atOnce` calls concurrently; the others wait in their order. */
export function createLimit(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((acquired) => waiting.push(acquired));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Whether a local file and an item are the same by size and time, where one is a copy of the other. */
export function isSameFile(from: "local" | "remote", file: Stats, item: WireItem): boolean {
  if (!file.isFile() || item.kind !== "file" || file.size !== item.size) return false;
  const remoteAt = Date.parse(item.modified_at ?? "");
  if (Number.isNaN(remoteAt)) return true;
  const [source, copy] = from === "local" ? [file.mtimeMs, remoteAt] : [remoteAt, file.mtimeMs];
  return copy + COARSE_TIME_MS >= source;
}

/** Tolerance of comparisons: storages round times to seconds or more. */
export const COARSE_TIME_MS = 2_000;

/** Progress callbacks of one transfer. */
export interface TransferProgress {
  /** `from` is the number of bytes that an earlier transfer completed. */
  begin(total: number | undefined, from?: number): void;
  update(bytes: number): void;
}

/** Runs a transfer and always ends its progress line. */
export async function trackTransfer<T>(
  progress: Progress,
  name: string,
  work: (shown: TransferProgress) => Promise<T>,
): Promise<T> {
  let transfer: Transfer | undefined;
  let outcome: "done" | "failed" = "failed";
  try {
    const result = await work({
      begin: (total, from) => (transfer ??= progress.begin(name, total, from)),
      update: (bytes) => transfer?.update(bytes),
    });
    outcome = "done";
    return result;
  } finally {
    transfer?.end(outcome);
  }
}

/** The outcome of a transferred or skipped file. */
interface Moved {
  readonly size: number | null;
  readonly skipped: string | null;
}

/** On a terminal one line summarizes the successful files of a tree. */
export function isSummarized(cli: CliContext, isTree: boolean): boolean {
  return isTree && cli.io.isOutputTerminal && !cli.output.isMachine;
}

/** Returns a sentence with the number and size of transferred files. */
export function toSummary(verb: string, outcomes: readonly Outcome<Moved>[]): string {
  const values = outcomes.flatMap(({ value }) => (value === undefined ? [] : [value]));
  const moved = values.filter(({ skipped }) => skipped === null);
  const bytes = moved.reduce((sum, { size }) => sum + (size ?? 0), 0);
  const files = `${moved.length} ${moved.length === 1 ? "file" : "files"}`;
  const left = values.length - moved.length;
  const rest = left === 0 ? "" : `, ${left} skipped`;
  return `${verb} ${files}, ${toSizeText(bytes)}${rest}.`;
}

function toCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= 32) return count;
  throw usageError(`--transfers takes a number from 1 to 32, not ${JSON.stringify(text)}`);
}

/** The command does not wait for a server that requires a longer pause. */
const longestPauseSeconds = 15 * 60;

/** Maximum number of pauses of one request. After that many, other clients use up the server's limit. */
const pausesMax = 20;

/** Retries of one run. All requests wait for the same pause. */
export type Retries = ReturnType<typeof createRetries>;

/** Returns the context of `createRetries`. */
export function withRetries(cli: CliContext, progress: Progress): CliContext {
  return createRetries(cli, progress).cli;
}

/**
 * Waits for rate limits of the daemon and of providers, which transfers of hundreds of files reach regularly. Only
 * refusals with a retry time are repeated; concurrent requests wait as well. Requests for a connection that has to be
 * reconnected fail at once.
 */
export function createRetries(cli: CliContext, progress: Progress) {
  let pause: Promise<void> | undefined;
  const shut = new Map<unknown, CliError>();

  async function repeat<T>(
    input: { readonly params?: unknown } | undefined,
    request: () => Promise<T>,
    canRepeat = true,
  ): Promise<T> {
    const params = input?.params as { readonly connection_id?: unknown } | undefined;
    const connection = params?.connection_id;
    for (let pauses = 0; ; pauses++) {
      await pause;
      const refusal = shut.get(connection);
      if (refusal !== undefined) throw refusal;
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (error.code === "reauth_required") shut.set(connection, error);
        const seconds = error.details.retryAfterSeconds;
        if (seconds === undefined || seconds > longestPauseSeconds) throw error;
        if (!canRepeat || pauses === pausesMax) throw error;
        pause ??= wait(seconds);
      }
    }
  }

  async function wait(seconds: number): Promise<void> {
    progress.waiting(seconds);
    try {
      await cli.system.sleep(seconds * 1000, cli.signal);
    } finally {
      pause = undefined;
    }
  }

  const client: Client = {
    ...cli.client,
    call: (operation, input, options) =>
      repeat(input, () => cli.client.call(operation, input, options)),
    download: (operation, input, options) =>
      repeat(input, () => cli.client.download(operation, input, options)),
    exchange: (operation, input, content) =>
      repeat(
        input,
        () => cli.client.exchange(operation, input, content),
        content.canRestart !== false,
      ),
    upload: (operation, input, form) =>
      repeat(input, () => cli.client.upload(operation, input, form), form.canRestart),
  };
  // Inherits instead of copying, because members of a context are created on first use.
  return {
    /** The context with a client that waits. */
    cli: Object.create(cli, { client: { value: client } }) as CliContext,
    /** Runs a request of a connection with the same retries. */
    repeat: <T>(connectionId: string, request: () => Promise<T>): Promise<T> =>
      repeat({ params: { connection_id: connectionId } }, request),
  };
}
