// daemon: the server process. This file is the composition root: settings in, a listening daemon out.
// It alone names concrete adapters; everything it builds is handed what it needs.
// The command line's `serve` and `init` import it; nothing else does.
import type { SettingPaths } from "./contract/setting-paths.ts";
import type { Settings } from "./contract/settings.ts";
import { composeDaemon } from "./compose.ts";
import { createAdministrators, isInitialised, type Initialised } from "./first-start.ts";
import { listenEverywhere } from "./listening.ts";
import { openStores, type Stores } from "./stores.ts";

/** What a daemon is made of: resolved settings and the process' surroundings. */
export interface DaemonInput {
  readonly settings: Settings;
  readonly paths: SettingPaths;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly process: { readonly pid: number; readonly userId: number | undefined };
  /** Where log lines go: standard error in the foreground. */
  readonly logTo: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** For tests: parse every JSON answer with its declared schema and fail on a difference. */
  readonly checkReplies?: boolean;
}

/** A daemon that accepts requests. */
export interface RunningDaemon {
  /** Where it listens, http first. */
  readonly urls: readonly string[];
  readonly dataDirectory: string;
  /** What was made because the home had not been initialised; shown once. Undefined on later starts. */
  readonly firstStart: (Initialised & { readonly password: string }) | undefined;
  /**
   * Stops gracefully: no new requests, running ones finish within `shutdown_seconds`, jobs go back to the
   * queue, the write-ahead log is checkpointed, the lock is given back. A second call waits for the first.
   */
  stop(): Promise<void>;
}

/** The administrators' names and secret that `croft init` was given. */
export interface FirstAdministrator {
  readonly username: string;
  readonly email: string;
  readonly password: string;
}

/**
 * Starts a daemon on its data directory. On a home that was never initialised it makes both administrators
 * (user name `admin`) with a generated password first. Refuses with `AppError` `conflict` when another daemon
 * holds the directory, with `StorageError` or `DirectoryError` when it cannot be used, with `ListenError` when the port is taken.
 */
export async function startDaemon(input: DaemonInput): Promise<RunningDaemon> {
  const stores = await openStores(input);
  try {
    const composed = await composeDaemon(input, stores);
    const firstStart = (await isInitialised(stores.db))
      ? undefined
      : await createAdministrators(composed, stores, {
          username: "admin",
          email: "admin@localhost.localdomain",
          password: undefined,
        });
    const listening = await listenEverywhere(input, composed);
    stores.lock.announce(listening.urls);
    composed.start(listening.urls);
    let stopping: Promise<void> | undefined;
    return {
      urls: listening.urls,
      dataDirectory: input.paths.dataDirectory,
      firstStart,
      stop: () => (stopping ??= stopAll(input, stores, composed, listening)),
    };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

/**
 * Initialises a home without serving it: data directory, master key, the forge's site administrator with an
 * access token of scope `all`, the vault's administrator with the same e-mail and password. Refuses with
 * `AppError` `conflict`, changing nothing, when the home is initialised or a daemon holds it.
 */
export async function initialise(
  input: DaemonInput,
  first: FirstAdministrator,
): Promise<Initialised> {
  const stores = await openStores(input);
  try {
    const composed = await composeDaemon(input, stores);
    return await createAdministrators(composed, stores, first);
  } finally {
    await stores.close();
  }
}

async function stopAll(
  input: DaemonInput,
  stores: Stores,
  composed: Awaited<ReturnType<typeof composeDaemon>>,
  listening: Awaited<ReturnType<typeof listenEverywhere>>,
): Promise<void> {
  composed.beginStop();
  await listening.stop(input.settings.shutdownSeconds * 1000);
  await composed.stop();
  await stores.close();
}
