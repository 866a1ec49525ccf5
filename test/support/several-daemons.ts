import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunningDaemon } from "../../daemon/main.ts";
import { startS3Server, type S3Server } from "../stand-ins/s3-server.ts";

/** A proxy that sends each request, or each connection, to the next of several daemons. */
interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Called once, when the daemons listen. */
  setTargets(ports: readonly number[]): void;
}

/** Headers of one connection, which the proxy does not pass on. */
const ofOneConnection: ReadonlySet<string> = new Set(["connection", "keep-alive"]);

/** Starts a proxy for HTTP: each request goes to the next daemon, whatever its connection. Bodies are streamed. */
async function startRequestProxy(): Promise<Proxy> {
  const agent = new Agent({ keepAlive: true });
  const next = createTurns();
  const server = createServer();
  const forward = (from: IncomingMessage, to: ServerResponse) => {
    const { method, url: path, headers } = from;
    const upstream = request({
      host: "127.0.0.1",
      port: next.port(),
      agent,
      method,
      path,
      setHost: false,
    });
    const hasBody = headers["content-length"] !== undefined || "transfer-encoding" in headers;
    // Before the headers: they decide about the framing of the body, which there may be none of.
    if (!hasBody) upstream.useChunkedEncodingByDefault = false;
    const passed = passedOn(from.rawHeaders);
    for (let at = 0; at < passed.length; at += 2)
      upstream.appendHeader(passed[at] ?? "", passed[at + 1] ?? "");
    upstream.on("continue", () => to.writeContinue());
    upstream.on("response", (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.statusMessage, passedOn(answer.rawHeaders));
      // A client sees the head of a stream before its first byte.
      to.flushHeaders();
      answer.pipe(to);
      answer.on("error", () => to.destroy());
    });
    upstream.on("error", () => to.destroy());
    to.on("close", () => upstream.destroy());
    from.on("error", () => upstream.destroy());
    if (!hasBody) return upstream.end();
    // A daemon may refuse a body before its first byte.
    upstream.flushHeaders();
    return from.pipe(upstream);
  };
  server.on("request", forward);
  server.on("checkContinue", forward);
  // The daemons decide how long a request may take.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  const port = await listen(server);
  return {
    port,
    setTargets: next.setPorts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Starts a proxy for SSH: each connection goes to the next daemon. */
async function startConnectionProxy(): Promise<Proxy> {
  const next = createTurns();
  const open = new Set<Socket>();
  const server = createTcpServer((from) => {
    const to = connect(next.port(), "127.0.0.1");
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => void open.delete(one));
    }
  });
  const port = await listen(server);
  return {
    port,
    setTargets: next.setPorts,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

function createTurns() {
  let ports: readonly number[] = [];
  let turn = 0;
  return {
    setPorts: (listening: readonly number[]) => void (ports = listening),
    port: () => ports[turn++ % ports.length] ?? 0,
  };
}

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function passedOn(raw: readonly string[]): string[] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 && !ofOneConnection.has(name.toLowerCase()) ? [name, raw[at + 1] ?? ""] : [],
  );
}

/** Starts a daemon on a home, with more settings than those of the test. */
export type StartDaemon = (
  home: string,
  env?: Readonly<Record<string, string>>,
) => Promise<RunningDaemon>;

/** One daemon, or several behind a proxy. */
export type StartedDaemons = Pick<
  RunningDaemon,
  "urls" | "sshPort" | "firstStart" | "dataDirectory" | "stop"
> & {
  readonly url: string;
  /** The SHA-256 of the stored objects. */
  listObjects(): Promise<readonly string[]>;
  /** Removes the bytes of a stored object, as a damaged disk does. Rejects unless there is one. */
  removeObject(sha256: string): Promise<void>;
};

/** Settings that make the address of a daemon one of its own. */
const ofOneListener = ["CROFT_TLS", "CROFT_HOST", "CROFT_PORT", "CROFT_SSH_PORT"];

/** Whether to start two daemons: a test wants them, or the run, by `CROFT_TEST_DAEMONS=2`. */
export function mayBeSeveral(
  env: Readonly<Record<string, string>>,
  { daemons }: { readonly daemons?: 2 },
): boolean {
  return (
    (daemons === 2 || process.env["CROFT_TEST_DAEMONS"] === "2") &&
    "CROFT_DATABASE_URL" in env &&
    !ofOneListener.some((name) => name in env)
  );
}

/**
 * Starts two daemons that share what those of two machines share: the database, a bucket, the repositories and other folders.
 * They are in this process, but have no object in common.
 */
export async function startSeveral(
  home: string,
  env: Readonly<Record<string, string>>,
  { clock, start }: { readonly clock: (() => number) | undefined; readonly start: StartDaemon },
): Promise<StartedDaemons> {
  const requests = await startRequestProxy();
  const connections = await startConnectionProxy();
  const settings = {
    CROFT_PUBLIC_URL: `http://127.0.0.1:${requests.port}`,
    CROFT_SSH_PUBLIC_PORT: String(connections.port),
    CROFT_REPOSITORIES_DIR: join(home, "repositories"),
    CROFT_UPLOADS_DIR: join(home, "uploads"),
    CROFT_LOCAL_ROOTS: join(home, "files"),
    ...(await bucketOf(home, clock)),
    ...env,
    // Those of the proxy, whose port is not a daemon's.
    CROFT_ALLOWED_HOSTS: [env["CROFT_ALLOWED_HOSTS"] ?? [], "127.0.0.1", "localhost"]
      .flat()
      .join(","),
  };
  const first = await start(home, settings);
  const second = await start(await homeBeside(home), settings);
  const daemons = [first, second];
  requests.setTargets(daemons.map(({ urls: [url = ""] }) => Number(new URL(url).port)));
  connections.setTargets(daemons.map(({ sshPort = 0 }) => sshPort));
  const { firstStart, dataDirectory, sshPort } = first;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    await requests[Symbol.asyncDispose]();
    await connections[Symbol.asyncDispose]();
  };
  return {
    url: `http://127.0.0.1:${requests.port}`,
    urls: daemons.map(({ urls: [url = ""] }) => url),
    sshPort: sshPort === undefined ? undefined : connections.port,
    firstStart,
    dataDirectory,
    listObjects: async () => [...new Set((await listCopies(home)).map(({ digest }) => digest))],
    removeObject: async (sha256) => {
      const copies = (await listCopies(home)).filter(({ digest }) => digest === sha256);
      if (copies.length === 0) throw new Error(`no object ${sha256} is stored`);
      const bucket = await buckets.get(home);
      for (const { key } of copies) bucket?.store.remove(key);
    },
    stop: () => (stopping ??= stop()),
  };
}

/** Lists the objects in the bucket: each upload of the same bytes has a key of its own. */
async function listCopies(home: string) {
  const bucket = await buckets.get(home);
  const copies = bucket?.store.versions("home/objects/") ?? [];
  return copies.map(({ key }) => ({ key, digest: key.split("/")[2] ?? "" }));
}

/** Folders of a home that the daemons of several machines share, and that have no setting. */
const sharedFolders = ["outbox", "custom"];

/** The homes of second daemons, by that of the first. */
const beside = new Map<string, string>();

/** Returns the home of the second daemon: it has the keys and the shared folders; everything else is its own. */
async function homeBeside(first: string): Promise<string> {
  const known = beside.get(first);
  if (known !== undefined) return known;
  const home = await mkdtemp(join(tmpdir(), "croft-test-beside-"));
  beside.set(first, home);
  await cp(join(first, "keys"), join(home, "keys"), { recursive: true });
  for (const name of sharedFolders) {
    await mkdir(join(first, name), { recursive: true, mode: 0o700 });
    await symlink(join(first, name), join(home, name));
  }
  return home;
}

/** Removes the home of the second daemon, and the bucket. */
export async function removeHomeBeside(first: string): Promise<void> {
  const home = beside.get(first);
  const bucket = await buckets.get(first);
  beside.delete(first);
  buckets.delete(first);
  await bucket?.[Symbol.asyncDispose]();
  if (home !== undefined) await rm(home, { recursive: true, force: true });
}

/** The bucket of each home, with the clock of its test. */
const buckets = new Map<string, Promise<S3Server>>();

/** Returns the settings of the bucket of a home. */
async function bucketOf(
  home: string,
  clock: (() => number) | undefined,
): Promise<Readonly<Record<string, string>>> {
  const started = buckets.get(home) ?? startS3Server(clock === undefined ? {} : { clock });
  buckets.set(home, started);
  const { bucket, origin, key } = await started;
  return {
    CROFT_OBJECTS_URL: `s3://${bucket}/home?endpoint=${origin}`,
    CROFT_OBJECTS_ACCESS_KEY_ID: key.id,
    CROFT_OBJECTS_SECRET_ACCESS_KEY: key.secret,
  };
}
