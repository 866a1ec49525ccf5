import { type FSWatcher, watch } from "node:fs";
import type { CliContext } from "../../../../context.ts";
import { toCliError } from "../../../../errors.ts";
import type { CliErrorCode } from "../../../../exit-codes.ts";
import type { Outcome } from "../../../../support/batch.ts";
import { partSuffix } from "../../../../support/file-names.ts";
import type { Done } from "./carry-out.ts";

/** A change, or a failure, as a watch prints it. */
export interface WatchedChange {
  readonly item: string;
  readonly action: Done["action"] | null;
  readonly side: Done["side"];
  readonly size: number | null;
  readonly other_path: string | null;
  readonly error: { readonly code: CliErrorCode; readonly message: string } | null;
}

/** A run begins when nothing has changed in the local folder for this time, or at the latest after the longer one. */
const QUIET_MS = 1_000;
const UNQUIET_MAX_MS = 15_000;

/** Failures after which the next run may succeed: the daemon restarts, the provider is offline. */
const temporary: ReadonlySet<CliErrorCode> = new Set([
  "daemon_unreachable",
  "provider_offline",
  "provider_failed",
  "rate_limited",
  "server_error",
  "stale",
]);

/**
 * Runs again and again until the command is stopped: after each change of the local folder, and every `intervalMs` for those
 * of the connection, which has no events. A failure that may pass is mentioned once.
 */
export async function* watchBoth(
  cli: Pick<CliContext, "system" | "signal" | "io">,
  root: string,
  intervalMs: number,
  run: () => Promise<readonly Outcome<Done>[]>,
): AsyncGenerator<WatchedChange> {
  const changes = watchFolder(cli, root);
  let lastFailure = "";
  let lastFailed = new Set<string>();
  try {
    for (;;) {
      changes.forget();
      try {
        const outcomes = await run();
        lastFailure = "";
        const rows = outcomes.map(toRow);
        const failed = rows.filter(({ error }) => error !== null).map((row) => JSON.stringify(row));
        yield* rows.filter((row) => row.error === null || !lastFailed.has(JSON.stringify(row)));
        lastFailed = new Set(failed);
      } catch (error) {
        const { code, message } = toCliError(error);
        if (cli.signal.aborted || !temporary.has(code)) throw error;
        if (message !== lastFailure) cli.io.note(`The sync goes on later: ${message}`);
        lastFailure = message;
      }
      await changes.next(intervalMs);
    }
  } finally {
    changes.close();
  }
}

function toRow({ item, value, failure }: Outcome<Done>): WatchedChange {
  const error = failure === undefined ? null : { code: failure.code, message: failure.message };
  const nothing = { action: null, side: null, size: null, other_path: null };
  return { item, ...nothing, ...value, error };
}

/** Watches a folder with everything in it. Where the system cannot, only the interval counts. */
function watchFolder(
  { system, signal, io }: Pick<CliContext, "system" | "signal" | "io">,
  root: string,
) {
  let count = 0;
  let wake: (() => void) | undefined;
  let watcher: FSWatcher | undefined;
  const fail = (error: unknown) => {
    watcher?.close();
    io.note(`Changes here are seen at the interval only: ${(error as Error).message}`);
  };
  try {
    watcher = watch(root, { recursive: true, persistent: false }, (_, name) => {
      if (name?.endsWith(partSuffix) === true) return;
      count += 1;
      wake?.();
    });
    watcher.on("error", fail);
  } catch (error) {
    fail(error);
  }
  return {
    /** Ignores the changes until now: the run that begins sees them. */
    forget(): void {
      count = 0;
    },
    /** Resolves after a change and some quiet, or after the interval. @throws when the command is stopped */
    async next(intervalMs: number): Promise<void> {
      if (count === 0) {
        const idle = new AbortController();
        const sleeping = system.sleep(intervalMs, AbortSignal.any([signal, idle.signal]));
        const changed = new Promise<void>((resolve) => (wake = resolve));
        await Promise.race([sleeping, changed]).finally(() => {
          wake = undefined;
          idle.abort();
          sleeping.catch(() => undefined);
        });
      }
      const latest = system.clock() + UNQUIET_MAX_MS;
      for (let before = 0; before < count && system.clock() < latest;) {
        before = count;
        await system.sleep(QUIET_MS, signal);
      }
    },
    close(): void {
      watcher?.close();
    },
  };
}
