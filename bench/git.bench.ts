import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  cp,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { croftJson } from "../test/support/croft.ts";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { built, makeHome } from "./daemon.ts";
import { atMost, ratio, report } from "./measure.ts";

// A clone of 50 MiB and small pushes, against git's own HTTP server behind the thinnest possible gateway on the same Node; and how fast
// a thousand repositories on disk are adopted in one command.

const CLONE_MIB = 50;
const CLONE_ROUNDS = 5;
const PUSH_ROUNDS = 15;
const ADOPTED = 1_000;

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), "croft-bench-git-"));
const env = clientEnvironment(work);
const git = (...args: string[]) => run("git", args, { cwd: work, env, maxBuffer: 1 << 26 });

try {
  await using home = await makeHome();
  const root = join(home.home, "repositories");
  await using daemon = await home.serve();
  await fillSource();
  await cloneFigures(root, daemon.url, home.token);
  await pushFigures(root, daemon.url, home.token);
  await adoptionFigures(root, daemon.url, home.home, home.token);
} finally {
  await rm(work, { recursive: true, force: true });
}

/** History that neither compresses nor packs away: most of a clone is moving bytes. */
async function fillSource(): Promise<void> {
  await git("init", "-q", "-b", "main", "source");
  for (let index = 0; index < 10; index += 1) {
    await writeFile(
      join(work, "source", `file-${index}`),
      randomBytes((CLONE_MIB / 10) * 1024 * 1024),
    );
    await git("-C", "source", "add", ".");
    await git("-C", "source", "commit", "-q", "-m", `file ${index}`);
  }
}

async function cloneFigures(root: string, url: string, token: string): Promise<void> {
  await mkdir(join(root, "keeper"), { recursive: true });
  await git("clone", "-q", "--bare", "source", join(root, "keeper", "big.git"));
  await git("-C", join(root, "keeper", "big.git"), "repack", "-adq");
  await adopt(url, token, "keeper/big");
  const gateway = await serveBackend(root);
  const gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const clone = (from: string) => async () => {
    const startedAt = performance.now();
    await git("clone", "-q", "--bare", from, "cloned");
    const ms = performance.now() - startedAt;
    await rm(join(work, "cloned"), { recursive: true, force: true });
    return ms;
  };
  const ours = clone(`${url.replace("://", `://keeper:${token}@`)}/keeper/big.git`);
  const theirs = clone(`${gatewayUrl}/keeper/big.git`);
  await reportRatio(`clone of ${CLONE_MIB} MiB over loopback`, CLONE_ROUNDS, ours, theirs);
  gateway.close();
}

/** Pushes of one commit to a new branch, with the checks and the durability that croft asks of git on both sides. */
async function pushFigures(root: string, url: string, token: string): Promise<void> {
  await git("init", "-q", "-b", "main", "pushed");
  await git("-C", "pushed", "commit", "-q", "--allow-empty", "-m", "first");
  for (const name of ["ours", "theirs"])
    await git("clone", "-q", "--bare", "pushed", join(root, "keeper", `${name}.git`));
  await adopt(url, token, "keeper/ours");
  const gateway = await serveBackend(root);
  const gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  let pushes = 0;
  const push = (to: string) => async () => {
    // The events of the push before are over, so that they burden neither side.
    await setTimeout(500);
    const ref = `refs/heads/branch-${(pushes += 1)}`;
    await git("-C", "pushed", "commit", "-q", "--allow-empty", "-m", ref);
    const startedAt = performance.now();
    await git("-C", "pushed", "push", "-q", to, `HEAD:${ref}`);
    return performance.now() - startedAt;
  };
  const ours = push(`${url.replace("://", `://keeper:${token}@`)}/keeper/ours.git`);
  const theirs = push(`${gatewayUrl}/keeper/theirs.git`);
  await reportRatio("push of one commit over loopback", PUSH_ROUNDS, ours, theirs);
  gateway.close();
}

/** Measures croft against git's own gateway by turns, after one run of each that is not counted. */
async function reportRatio(
  title: string,
  rounds: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<void> {
  await ours();
  await theirs();
  const measured = await ratio(rounds, ours, theirs);
  report(title, "git does the work itself; croft adds authentication, checks and events.", [
    { label: "croft", value: `${measured.a.toFixed(0)} ms` },
    { label: "git http-backend", value: `${measured.b.toFixed(0)} ms` },
    atMost("croft / git http-backend", measured.ratio, 1.3, ""),
  ]);
}

async function adoptionFigures(
  root: string,
  url: string,
  home: string,
  token: string,
): Promise<void> {
  await git("init", "-q", "-b", "main", "small");
  await git("-C", "small", "commit", "-q", "--allow-empty", "-m", "one");
  const template = join(work, "small.git");
  await git("clone", "-q", "--bare", "small", template);
  for (let index = 0; index < ADOPTED; index += 1) {
    await cp(template, join(root, "keeper", `r${index}.git`), { recursive: true });
    await cp(template, join(work, "raw", `r${index}.git`), { recursive: true });
  }
  await run("sync");
  const rawSeconds = await rawDiskWork(join(work, "raw"));
  const startedAt = performance.now();
  const around = { home, env: { CROFT_URL: url, CROFT_FORGE_TOKEN: token } };
  const results = await croftJson<unknown[]>(
    built,
    ["admin", "unadopted", "adopt", "keeper/r*"],
    around,
  );
  const seconds = (performance.now() - startedAt) / 1000;
  if (results.length !== ADOPTED) throw new Error(`${results.length} were adopted`);
  report(
    `adoption of ${ADOPTED} repositories in one command`,
    "Adoption reads and writes what git needs; the rows are cheap beside that.",
    [
      {
        label: "croft admin unadopted adopt",
        value: `${seconds.toFixed(1)} s, ${(ADOPTED / seconds).toFixed(0)} a second`,
      },
      {
        label: "the same files read and written by a bare loop",
        value: `${rawSeconds.toFixed(1)} s`,
      },
      atMost("croft / bare loop", seconds / rawSeconds, 3, ""),
    ],
  );
}

/** The least that adopting takes: list every file, have git read configuration and refs, replace the configuration, one durable note. */
async function rawDiskWork(folder: string): Promise<number> {
  const startedAt = performance.now();
  const log = await open(join(folder, "log"), "a");
  const rest = (await readdir(folder)).filter((name) => name.endsWith(".git")).values();
  const worker = async () => {
    for (const name of rest) {
      const repository = join(folder, name);
      const entries = await readdir(repository, { recursive: true });
      await Promise.all(entries.map((entry) => lstat(join(repository, entry))));
      await git("-C", repository, "config", "--list");
      await git("-C", repository, "for-each-ref", "--format=%(contents:size)");
      const config = join(repository, "config");
      await writeFile(`${config}.before`, await readFile(config));
      await writeFile(`${config}.new`, "[core]\n\tbare = true\n", { flush: true });
      await rename(`${config}.new`, config);
      await log.appendFile(`${name}\n`);
      await log.datasync();
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  await log.close();
  return (performance.now() - startedAt) / 1000;
}

async function adopt(url: string, token: string, name: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/admin/unadopted/${name}`, {
    method: "POST",
    headers: { Authorization: `token ${token}` },
  });
  if (answer.status !== 204) throw new Error(`${name}: ${answer.status}`);
}

/** The gateway: every request is one run of `git http-backend`, its output piped through. */
async function serveBackend(root: string): Promise<Server> {
  const server = createServer((request, response) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const child = spawn("git", ["http-backend"], {
      env: {
        ...env,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        ...toConfig({
          "safe.directory": "*",
          "http.receivepack": "true",
          "core.fsync": "objects,reference",
          "receive.fsckObjects": "true",
          "receive.autogc": "false",
        }),
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method ?? "GET",
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        CONTENT_LENGTH: request.headers["content-length"] ?? "",
        HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    request.pipe(child.stdin);
    let head = Buffer.alloc(0);
    const onHead = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      child.stdout.off("data", onHead);
      for (const line of head.toString("latin1", 0, end).split("\r\n")) {
        const colon = line.indexOf(":");
        const name = line.slice(0, colon);
        if (name === "Status") response.statusCode = Number(line.slice(colon + 1, colon + 5));
        else response.setHeader(name, line.slice(colon + 1).trim());
      }
      response.write(head.subarray(end + 4));
      child.stdout.pipe(response);
    };
    child.stdout.on("data", onHead);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function toConfig(entries: Readonly<Record<string, string>>): Record<string, string> {
  const config = Object.entries(entries).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return Object.fromEntries([["GIT_CONFIG_COUNT", String(config.length / 2)], ...config]);
}
