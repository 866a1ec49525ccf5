import type { CommonFlags } from "./flags.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output/output.ts";
import type { ClientConfig } from "./profile/config.ts";
import type { System } from "./system.ts";

/** The part of a run that needs no daemon: the process, the flags, the configuration and the output. */
export interface CliEnvironment {
  readonly system: System;
  /** The common flags of the line. */
  readonly flags: CommonFlags;
  readonly io: Io;
  readonly output: Output;
  /** Resolves the daemon's address, croft's folders and the environment. @throws CliError `invalid_config` */
  config(): Promise<ClientConfig>;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Leaves stop signals to the command, as `serve` does. */
  holdStops(): void;
  /** Runs synchronous, long work during which stop signals end the process at once. */
  endedBySignals<T>(work: () => Promise<T>): Promise<T>;
  /** Ends with another exit code than 0 although nothing failed, as `--check` of an unfinished change does. */
  finishWith(exitCode: number): void;
  /** Records that a native call does not return: the process must not wait for it when it ends. */
  markStuck(): void;
}
