import { rmSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { parse as parseYaml } from "yaml";
import { resolvePaths, resolveSettings } from "../../daemon/settings/resolve.ts";
import type { DaemonInput } from "../../daemon/home/daemon-input.ts";
import { startDaemon, type RunningDaemon } from "../../daemon/main.ts";
import { recordAnswer } from "./answers.ts";
import { watchLoop } from "./loop-watch.ts";
import { sendRequest } from "./send-request.ts";
import { createServerDatabases, type ServerDatabases } from "./storage/postgres-server.ts";

/** One log line of the daemon under test, as its JSON format prints it. */
export interface LogLine {
  readonly level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
  readonly message: string;
  readonly [key: string]: unknown;
}

export interface TestDaemonOptions {
  /** `CROFT_…` variables; the home, a free port and a quiet outside world are set already. */
  readonly env?: Readonly<Record<string, string>>;
  /** An earlier test daemon's home, to start on it again; it is kept then. */
  readonly home?: string;
  /** Epoch milliseconds. */
  readonly clock?: () => number;
  /** Hashes of passwords cost what they cost in production. */
  readonly realHashes?: boolean;
  /** Error lines that the test provokes; any other error line fails it. */
  readonly expectErrors?: (line: LogLine) => boolean;
}

/** A whole daemon in this process, on a home of its own. `await using` stops it and checks its log. */
export interface TestDaemon extends AsyncDisposable {
  readonly url: string;
  /** Undefined when SSH is off. */
  readonly sshPort: number | undefined;
  readonly home: string;
  readonly log: readonly LogLine[];
  /** The administrators made on the first start; undefined on a home that was started before. */
  readonly first: RunningDaemon["firstStart"];
  /** `fetch` on the daemon; `token` goes into the forge's header, `bearer` into the vault's, `json` into the body. */
  request(path: string, init?: TestRequest): Promise<TestAnswer>;
  /** Stops gracefully and keeps the home. */
  stop(): Promise<void>;
}

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly bearer?: string;
  /** `name:password` for Basic authentication. */
  readonly basic?: string;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly json: any;
}

/** The tests of the hasher use the real cost, and those of the time of a refused sign-in compare the number of hashes. */
const CHEAP_HASHES = { memoryCost: 64, timeCost: 1, parallelism: 1 };

const isError = ({ level }: LogLine) => level === "error" || level === "fatal";

/**
 * Starts a daemon as `croft serve` does, with every answer checked against its declared schema. Its database is SQLite.
 * `CROFT_TEST_ENGINE=postgres` gives each home a database on the server that `CROFT_TEST_POSTGRES_URL` names.
 */
export async function startTestDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  watchLoop();
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "croft-test-")));
  const template = takesTemplate(options) ? await copyTemplate(home) : undefined;
  const log: LogLine[] = [];
  const databaseUrl = await databases?.of(home);
  const env =
    databaseUrl === undefined ? options.env : { CROFT_DATABASE_URL: databaseUrl, ...options.env };
  const running = await startDaemon(testInput(home, { ...options, ...(env && { env }) }, log));
  const [url = ""] = running.urls;
  return {
    url,
    sshPort: running.sshPort,
    home,
    log,
    first:
      running.firstStart ?? (template?.first && { ...template.first, home: running.dataDirectory }),
    request: (path, init) => sendRequest(url, path, init),
    stop: () => running.stop(),
    [Symbol.asyncDispose]: async () => {
      await running.stop();
      if (options.home === undefined) {
        await rm(home, { recursive: true, force: true });
        await databases?.drop(home);
      }
      const held = watchLoop().take();
      if (held.length > 0)
        throw new Error(
          `requests held the event loop:\n${held.map(({ request, cpuMs }) => `${request}: ${cpuMs} ms of processor time`).join("\n")}`,
        );
      const unexpected = log.filter(
        (line) => isError(line) && options.expectErrors?.(line) !== true,
      );
      if (unexpected.length > 0)
        throw new Error(
          `the daemon logged errors:\n${unexpected.map((line) => JSON.stringify(line)).join("\n")}`,
        );
    },
  };
}

interface TemplateHome {
  readonly home: string;
  readonly first: RunningDaemon["firstStart"];
}

/**
 * The home of a first start, one a worker, which tests copy: its migrations and the hash of its password take ten times
 * as long as the start of an existing home.
 */
let templateHome: Promise<TemplateHome> | undefined;

/** Makes the empty folder `home` one that was served. All such homes of a process have the same keys and administrators. */
export async function fillServedHome(home: string): Promise<void> {
  await copyTemplate(home);
}

async function copyTemplate(home: string): Promise<TemplateHome> {
  const template = await (templateHome ??= makeTemplateHome());
  await cp(template.home, home, { recursive: true });
  return template;
}

async function makeTemplateHome(): Promise<TemplateHome> {
  const home = await mkdtemp(join(tmpdir(), "croft-test-template-"));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  const running = await startDaemon(testInput(home, {}, []));
  await running.stop();
  return { home, first: running.firstStart };
}

/** Settings by which a first start makes another home. */
const settingsOfHomes = /^CROFT_(?:MASTER_KEY|KEY_SOURCE|DATABASE_URL|OBJECTS_|HOME|.*_DIR$)/;

/** Whether the home of a test is new and equals the template. A clock of its own dates what a first start makes. */
function takesTemplate({ home, clock, env = {} }: TestDaemonOptions): boolean {
  return (
    home === undefined &&
    clock === undefined &&
    databases === undefined &&
    !Object.keys(env).some((name) => settingsOfHomes.test(name))
  );
}

/** Returns the input of `startDaemon` for the home of a test. */
export function testInput(home: string, options: TestDaemonOptions, log: LogLine[]): DaemonInput {
  const around = {
    env: {
      CROFT_HOME: home,
      CROFT_PORT: "0",
      CROFT_BREACH_URL: "off",
      CROFT_KEY_SOURCE: "file",
      CROFT_LOG_FORMAT: "json",
      ...options.env,
    },
    platform: process.platform,
    homeDirectory: homedir(),
    workingDirectory: process.cwd(),
    flags: {},
    readFile: () => {
      throw new Error("no files in tests");
    },
  };
  const paths = resolvePaths(around);
  const { settings } = resolveSettings({
    ...around,
    fileText: undefined,
    filePath: paths.configFile,
    parseFile: parseYaml,
  });
  return {
    settings,
    paths,
    version: "0.0.0-test",
    clock: options.clock ?? Date.now,
    process: { pid: process.pid, userId: process.getuid?.() },
    logTo: logLines(log),
    checkReplies: true,
    onAnswer: recordAnswer,
    ...(options.realHashes === true ? {} : { passwordCost: CHEAP_HASHES }),
  };
}

function logLines(into: LogLine[]): NodeJS.WritableStream {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      for (const line of chunk.toString().split("\n")) if (line !== "") into.push(JSON.parse(line));
      done();
    },
  });
}

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
const databases =
  process.env["CROFT_TEST_ENGINE"] === "postgres" && serverUrl !== undefined
    ? databasesOfHomes(serverUrl)
    : undefined;

/** A daemon that starts on an earlier home finds its database. Homes that a test makes itself keep theirs. */
function databasesOfHomes(server: string) {
  const urls = new Map<string, { readonly url: string; readonly made: ServerDatabases }>();
  return {
    async of(home: string): Promise<string> {
      const known = urls.get(home);
      if (known !== undefined) return known.url;
      const made = createServerDatabases(server);
      const url = await made.create();
      urls.set(home, { url, made });
      return url;
    },
    async drop(home: string): Promise<void> {
      await urls.get(home)?.made.dropAll();
      urls.delete(home);
    },
  };
}
