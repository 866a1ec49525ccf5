import { type Client, createClient } from "./client/client.ts";
import type { CliEnvironment } from "./environment.ts";
import { type CommonFlags, noFlags } from "./flags.ts";
import { createIo, writeLong } from "./io.ts";
import { createOutput, type Output } from "./output/output.ts";
import { type ClientConfig, readClientConfig } from "./profile/config.ts";
import { createProfiles, type Profiles } from "./profile/profiles.ts";
import { createCredentials, type Credentials } from "./profile/credentials.ts";
import type { Progress } from "./output/progress.ts";
import { createPrompts, type Prompts } from "./prompts.ts";
import type { Stopping } from "./report.ts";
import type { System } from "./system.ts";

/** The dependencies of a command. Every member is created on first use, so that `--help` opens no file and no socket. */
export interface CliContext extends CliEnvironment {
  readonly profiles: Profiles;
  readonly credentials: Credentials;
  readonly client: Client;
  readonly prompts: Prompts;
  /** Progress reporting of transfers, loaded when one begins. */
  progress(): Promise<Progress>;
}

/** The context as the program itself uses it. */
export interface CliRun extends CliContext {
  /** Sets the flags. Members that were created with earlier flags are created again. */
  useFlags(flags: CommonFlags): void;
  /** Text that commander writes while it parses; written by `flush`. */
  queue(text: string): void;
  flush(): Promise<void>;
  /** Writes a text for people to standard output, in a pager when it is longer than the terminal. */
  writeLong(text: string): Promise<void>;
  readonly exitCode: number;
  readonly isStuck: boolean;
}

/** Creates the context of a run: the composition root of the command line. */
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
        const writeLong = (text: string) => run.writeLong(text);
        return createOutput({ io, writeLong, flags, clock: system.clock, endedBySignals });
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
      if (text !== "") await run.writeLong(text);
    },
    async writeLong(text) {
      if (!io.isOutputTerminal) return io.write(text);
      run.holdStops();
      await writeLong(io, system, text);
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
