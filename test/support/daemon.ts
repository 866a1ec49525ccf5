import { rmSync } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { parse as parseYaml } from "yaml";
import { resolvePaths, resolveSettings } from "../../daemon/settings/resolve.ts";
import type { DaemonInput } from "../../daemon/home/daemon-input.ts";
import { startDaemon, type RunningDaemon } from "../../daemon/main.ts";
import { createGitLauncher } from "../../storage/git/git-launcher.ts";
import { recordAnswer } from "./answers.ts";
import { watchLoop } from "./loop-watch.ts";
import { sendRequest } from "./send-request.ts";
import {
  mayBeSeveral,
  removeHomeBeside,
  startSeveral,
  type StartDaemon,
  type StartedDaemons,
} from "./several-daemons.ts";
import {
  createServerDatabases,
  type ServerDatabases,
  toWorkerTemplateName,
} from "./storage/postgres-server.ts";

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
  /** Two on one database of a PostgreSQL server, behind a proxy that sends each request to the next. */
  readonly daemons?: 2;
  /** Error lines that the test provokes; any other error line fails it. */
  readonly expectErrors?: (line: LogLine) => boolean;
}

/** A whole daemon in this process, on a home of its own. `await using` stops it and checks its log. */
export interface TestDaemon extends AsyncDisposable {
  readonly url: string;
  /** The address of each daemon; several when `url` is that of a proxy. */
  readonly urls: readonly string[];
  /** Undefined when SSH is off. */
  readonly sshPort: number | undefined;
  readonly home: string;
  readonly log: readonly LogLine[];
  /** The administrators made on the first start; undefined on a home that was started before. */
  readonly first: RunningDaemon["firstStart"];
  /** `fetch` on the daemon; `token` goes into the forge's header, `bearer` into the vault's, `json` into the body. */
  request(path: string, init?: TestRequest): Promise<TestAnswer>;
  /** The SHA-256 of the stored objects, from the folder or the bucket. */
  listObjects(): Promise<readonly string[]>;
  /** Removes the bytes of a stored object, as a damaged disk does. Rejects unless there is one. */
  removeObject(sha256: string): Promise<void>;
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

/** Daemons of this process share it: it lasts longer than most of them, and each would start one of its own. */
const gitLauncher = createGitLauncher({
  program: [process.execPath],
  searchPath: process.env["PATH"] ?? "",
  onLost: (reason) => {
    throw new Error("lost the process that runs git", { cause: reason });
  },
  runsBeforeStart: 1,
});

const isError = ({ level }: LogLine) => level === "error" || level === "fatal";

/**
 * Starts a daemon as `croft serve` does, with every answer checked against its declared schema. Its database is SQLite.
 * `CROFT_TEST_ENGINE=postgres` gives each home a database on the server that `CROFT_TEST_POSTGRES_URL` names, and
 * `CROFT_TEST_DAEMONS=2` two daemons on that database behind a proxy.
 */
export async function startTestDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  watchLoop();
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "croft-test-")));
  const template = takesTemplate(options) ? await copyTemplate(home, options) : undefined;
  const log: LogLine[] = [];
  const databaseUrl = isOnServer(options) ? await databases?.of(home) : undefined;
  const env = { ...(databaseUrl && { CROFT_DATABASE_URL: databaseUrl }), ...options.env };
  const start = (at: string, more: Readonly<Record<string, string>> = {}) =>
    startDaemon(testInput(at, { ...options, env: { ...env, ...more } }, log));
  const running = await (mayBeSeveral(env, options)
    ? startSeveral(home, env, { clock: options.clock, start })
    : startAlone(home, start));
  return {
    url: running.url,
    urls: running.urls,
    sshPort: running.sshPort,
    home,
    log,
    first:
      running.firstStart ?? (template?.first && { ...template.first, home: running.dataDirectory }),
    request: (path, init) => sendRequest(running.url, path, init),
    listObjects: () => running.listObjects(),
    removeObject: (sha256) => running.removeObject(sha256),
    stop: () => running.stop(),
    [Symbol.asyncDispose]: async () => {
      await running.stop();
      if (options.home === undefined) {
        await rm(home, { recursive: true, force: true });
        await removeHomeBeside(home);
        await databases?.drop(home);
      }
      const held = watchLoop().take();
      // The proxy of several daemons, and both of them, share the loop.
      if (held.length > 0 && running.urls.length === 1)
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

async function startAlone(home: string, start: StartDaemon): Promise<StartedDaemons> {
  const running = await start(home);
  const listFiles = async () => {
    const names = await readdir(join(home, "packages"), { recursive: true });
    return names.filter((name) => /[0-9a-f]{64}$/.test(name));
  };
  return {
    ...running,
    url: running.urls[0] ?? "",
    listObjects: async () => (await listFiles()).map((name) => name.slice(-64)),
    removeObject: async (sha256) => {
      const name = (await listFiles()).find((file) => file.endsWith(sha256));
      if (name === undefined) throw new Error(`no object ${sha256} is stored`);
      await rm(join(home, "packages", name));
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
/** The same with a database on a server. */
let serverTemplateHome: Promise<TemplateHome> | undefined;

/** Makes the empty folder `home` one that was served. All such homes of a process have the same keys and administrators. */
export async function fillServedHome(home: string): Promise<void> {
  await copyTemplate(home, {});
}

async function copyTemplate(home: string, options: TestDaemonOptions): Promise<TemplateHome> {
  if (!isOnServer(options)) {
    const template = await (templateHome ??= makeTemplateHome({}));
    await cp(template.home, home, { recursive: true });
    return template;
  }
  const template = await (serverTemplateHome ??= makeTemplateOnServer());
  await cp(template.home, home, { recursive: true });
  await databases?.copy(template.home, home);
  return template;
}

async function makeTemplateOnServer(): Promise<TemplateHome> {
  const home = await mkdtemp(join(tmpdir(), "croft-test-template-"));
  const databaseUrl = await databases?.makeTemplate(home);
  return makeTemplateHome({ CROFT_DATABASE_URL: databaseUrl ?? "" }, home);
}

async function makeTemplateHome(
  env: Readonly<Record<string, string>>,
  folder?: string,
): Promise<TemplateHome> {
  const home = folder ?? (await mkdtemp(join(tmpdir(), "croft-test-template-")));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  const running = await startDaemon(testInput(home, { env }, []));
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
    gitLauncher,
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
const databases = serverUrl === undefined ? undefined : databasesOfHomes(serverUrl);

function isOnServer({ daemons }: TestDaemonOptions): boolean {
  return (
    serverUrl !== undefined &&
    (daemons !== undefined || process.env["CROFT_TEST_ENGINE"] === "postgres")
  );
}

/** A daemon that starts on an earlier home finds its database. Homes that a test makes itself keep theirs. */
function databasesOfHomes(server: string) {
  const urls = new Map<string, { readonly url: string; readonly made: ServerDatabases }>();
  const make = async (home: string, template?: string, name?: string): Promise<string> => {
    const made = createServerDatabases(server);
    const url = await made.create(template, name);
    urls.set(home, { url, made });
    return url;
  };
  return {
    of: async (home: string): Promise<string> => urls.get(home)?.url ?? make(home),
    makeTemplate: (home: string) => make(home, undefined, toWorkerTemplateName()),
    /** Gives `to` a copy of the database of `from`, which no daemon uses. */
    copy: async (from: string, to: string): Promise<void> => {
      const { pathname } = new URL(urls.get(from)?.url ?? "");
      await make(to, pathname.slice(1));
    },
    async drop(home: string): Promise<void> {
      await urls.get(home)?.made.dropAll();
      urls.delete(home);
    },
  };
}
