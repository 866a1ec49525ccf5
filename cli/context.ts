import type { Client } from "./client/client.ts";
import { createClient } from "./client/client.ts";
import { type CommonFlags, noFlags } from "./flags.ts";
import { createIo, type Io } from "./io.ts";
import { createOutput, type Output } from "./output/output.ts";
import { type ClientConfig, readClientConfig } from "./profile/config.ts";
import { createProfiles, type Profiles } from "./profile/profiles.ts";
import { createCredentials, type Credentials } from "./profile/credentials.ts";
import type { Progress } from "./output/progress.ts";
import { createPrompts, type Prompts } from "./prompts.ts";
import type { Stopping } from "./report.ts";
import type { System } from "./system.ts";

/**
 * What a command is given. Every member is made when it is first used, so that `--help` opens no file and no socket.
 */
export interface CliContext {
  readonly system: System;
  /** The common flags of the line. */
  readonly flags: CommonFlags;
  readonly io: Io;
  readonly output: Output;
  /** Resolves the daemon's address, croft's folders and the environment. @throws CliError `invalid_config` */
  config(): Promise<ClientConfig>;
  readonly profiles: Profiles;
  readonly credentials: Credentials;
  readonly client: Client;
  readonly prompts: Prompts;
  /** Progress reporting of transfers, loaded when one begins. */
  progress(): Promise<Progress>;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** The command sees to stop signals itself, as `serve` does. */
  holdStops(): void;
  /** Runs work that computes without a pause; until it is done, stop signals end the process at once. */
  endedBySignals<T>(work: () => Promise<T>): Promise<T>;
  /** Ends with another code than 0 although nothing failed: `--check` that is not finished, a batch partly done. */
  finishWith(exitCode: number): void;
  /** A native call does not come back: the process must not wait for it at the end. */
  markStuck(): void;
}

/** The context as the program itself uses it. */
export interface CliRun extends CliContext {
  /** The flags are known. Everything made from earlier ones is made again. */
  useFlags(flags: CommonFlags): void;
  /** Text that commander writes while it parses; written by `flush`. */
  queue(text: string): void;
  flush(): Promise<void>;
  readonly exitCode: number;
  readonly isStuck: boolean;
}

/** Wires a run together: the one place that names what commands use. */
export function createContext(system: System, stopping: Stopping): CliRun {
  let flags = noFlags;
  let exitCode = 0;
  let isStuck = false;
  let queued = "";
  let made: Partial<Made> = {};
  const once = <K extends keyof Made>(key: K, make: () => Made[K]): Made[K] => {
    const known = made[key] as Made[K] | undefined;
    if (known !== undefined) return known;
    const fresh = make();
    made = { ...made, [key]: fresh };
    return fresh;
  };
  const io = createIo(system, () => flags);
  const run: CliRun = {
    system,
    io,
    clock: system.clock,
    signal: stopping.signal,
    holdStops: () => stopping.hold(),
    endedBySignals: (work) => stopping.endedBySignals(work),
    get flags() {
      return flags;
    },
    get output() {
      return once("output", () => {
        const { endedBySignals } = stopping;
        return createOutput({ io, flags, clock: system.clock, endedBySignals });
      });
    },
    config: () => once("config", () => readClientConfig(system, flags)),
    get profiles() {
      return once("profiles", () => createProfiles(run));
    },
    get credentials() {
      return once("credentials", () => createCredentials(run));
    },
    get prompts() {
      return once("prompts", () => createPrompts(run));
    },
    async progress() {
      const { createProgress } = await import("./output/progress.ts");
      const dumb = system.env["TERM"] === "dumb";
      return createProgress({ io, flags, clock: system.clock, dumb }, run.output.isMachine);
    },
    get client() {
      return once("client", () => createClient(run));
    },
    finishWith(code) {
      exitCode = code;
    },
    markStuck() {
      isStuck = true;
    },
    useFlags(read) {
      flags = read;
      made = {};
    },
    queue(text) {
      queued += text;
    },
    async flush() {
      const text = queued;
      queued = "";
      if (text !== "") await io.write(text);
    },
    get exitCode() {
      return exitCode;
    },
    get isStuck() {
      return isStuck;
    },
  };
  return run;
}

interface Made {
  readonly output: Output;
  readonly config: Promise<ClientConfig>;
  readonly profiles: Profiles;
  readonly credentials: Credentials;
  readonly prompts: Prompts;
  readonly client: Client;
}
