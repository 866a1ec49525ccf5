// test/cli: the command line, run in this process with streams, folders, clock and a daemon of its own.
// support/run-cli.ts runs lines, support/fake-daemon.ts answers them. A test of a command has two halves: the line
// becomes options (a captured `run`), and options become requests, output and exit code (`runCli`). Start here.
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { run } from "../../../cli/main.ts";
import type { KeyringLibrary, StopSignal, System } from "../../../cli/system.ts";

/** A stop signal at will. */
export interface Stops {
  send(signal: StopSignal): void;
}

export interface FakeSystemOptions {
  /** Its home, and `CROFT_HOME`. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string | Readable;
  readonly terminal?:
    | boolean
    | { readonly in?: boolean; readonly out?: boolean; readonly err?: boolean };
  readonly columns?: number;
  readonly workingDirectory?: string;
  /** Epoch milliseconds; the real clock when absent. */
  readonly now?: () => number;
  /** Running time of the process so far; 0 when absent. */
  readonly elapsedMs?: number;
  readonly stdout?: Writable;
  readonly isProcessAlive?: (pid: number) => boolean;
  /** The system does not say when absent. */
  readonly processMark?: (pid: number) => string | undefined;
  readonly platform?: NodeJS.Platform;
  /** That of this process when absent. */
  readonly userId?: number;
  /** The program that `daemon start` runs. */
  readonly program?: readonly [string, ...string[]];
  /** False: no pager starts. */
  readonly hasPager?: boolean;
  /** Polling is hurried, patience of a second and more is not, unless this says otherwise. */
  readonly hurried?: boolean;
  /** Without it there is no keyring: no test touches that of its machine. */
  readonly keyring?: KeyringLibrary;
}

/** A system whose streams are kept. */
export interface FakeSystem extends System {
  readonly written: { out(): string; outBytes(): Buffer; err(): string };
  readonly stops: Stops;
  readonly exits: number[];
  /** Addresses that a browser was to show. */
  readonly opened: readonly string[];
  /** Texts that were shown in a pager, with its line. */
  readonly paged: readonly { readonly pager: string; readonly text: string }[];
}

export function fakeSystem(options: FakeSystemOptions): FakeSystem {
  const { terminal = false } = options;
  const is =
    typeof terminal === "object" ? terminal : { in: terminal, out: terminal, err: terminal };
  const out = collector(is.out === true, options.columns);
  const err = collector(is.err === true, options.columns);
  const stdin =
    options.stdin instanceof Readable
      ? options.stdin
      : Readable.from(options.stdin === undefined ? [] : [options.stdin]);
  // As the real process has it: errors are reported by the writes.
  options.stdout?.on("error", () => undefined);
  const listeners = new Set<(signal: StopSignal) => void>();
  const exits: number[] = [];
  const opened: string[] = [];
  const paged: { readonly pager: string; readonly text: string }[] = [];
  return {
    env: { CROFT_HOME: options.home, CROFT_CREDENTIAL_STORE: "file", ...options.env },
    workingDirectory: options.workingDirectory ?? options.home,
    homeDirectory: options.home,
    platform: options.platform ?? "linux",
    pid: process.pid,
    program: options.program ?? [process.execPath],
    userId: options.userId ?? process.getuid?.(),
    nodeVersion: "v26.0.0",
    stdin: Object.assign(stdin, { isTTY: is.in === true }),
    stdout:
      options.stdout === undefined
        ? out.stream
        : Object.assign(options.stdout, { isTTY: is.out === true }),
    stderr: err.stream,
    http: () => http,
    https: () => https,
    keyring: async () => {
      if (options.keyring === undefined) throw new Error("there is no keyring");
      return options.keyring;
    },
    clock: options.now ?? (() => Date.now()),
    elapsed: () => options.elapsedMs ?? 0,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        const isPolling = milliseconds < 1_000 || options.hurried === true;
        const timer = setTimeout(resolve, isPolling ? Math.min(milliseconds, 20) : milliseconds);
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason as Error);
        });
      }),
    isProcessAlive: options.isProcessAlive ?? ((pid) => pid === process.pid),
    processMark: options.processMark ?? (() => undefined),
    stopProcess: () => true,
    suspend: () => undefined,
    page: async (pager, text) => options.hasPager !== false && paged.push({ pager, text }) > 0,
    openBrowser: (address) => opened.push(address) > 0,
    openFile: (path) => opened.push(path) > 0,
    outputClosed: () => new Promise(() => undefined),
    onStop(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onUnhandled: () => () => undefined,
    exitNow: (code) => exits.push(code),
    written: {
      out: () => out.bytes().toString("utf8"),
      outBytes: out.bytes,
      err: () => err.bytes().toString("utf8"),
    },
    stops: { send: (signal) => listeners.forEach((listener) => listener(signal)) },
    exits,
    opened,
    paged,
  };
}

function collector(isTerminal: boolean, columns = 80) {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  // As the real streams have it: a prompt that pipes into one does not end it.
  stream.end = () => stream;
  return {
    stream: Object.assign(
      stream,
      isTerminal ? { isTTY: true, columns, rows: 24 } : { isTTY: false },
    ),
    bytes: () => Buffer.concat(chunks),
  };
}

/** The result of a command line. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Standard output as JSON. */
  json(): unknown;
  /** The `error` object of the one line on standard error. */
  error(): Readonly<Record<string, unknown>>;
}

/** Runs a line, given as words, to its end. */
export async function runCli(words: readonly string[], options: FakeSystemOptions): Promise<Ran> {
  const system = fakeSystem(options);
  return toRan(await run(words, system), system);
}

/** Returns the result from a fake system after the run. */
export function toRan(code: number, { written }: FakeSystem): Ran {
  const [out, err] = [written.out(), written.err()];
  return {
    code,
    out,
    err,
    json: () => JSON.parse(out) as unknown,
    error() {
      const lines = err.trimEnd().split("\n");
      if (lines.length !== 1) throw new Error(`expected one line on standard error, got: ${err}`);
      return (JSON.parse(lines[0] ?? "") as { error: Readonly<Record<string, unknown>> }).error;
    },
  };
}

/** A folder of a test's own; `await using` removes it. */
export async function temporaryHome(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "croft-cli-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** A working keyring that exposes its entries. */
export function fakeKeyring(): KeyringLibrary & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    getPassword: async (_service, account) => entries.get(account) ?? null,
    setPassword: async (_service, account, password) => {
      entries.set(account, password);
    },
    deletePassword: async (_service, account) => entries.delete(account),
  };
}

/** A stream of input that stays open, as a terminal has it. */
export function openInput(): PassThrough {
  const ignore = () => undefined;
  return Object.assign(new PassThrough(), { setRawMode: ignore, ref: ignore, unref: ignore });
}
