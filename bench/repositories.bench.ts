import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ServedCroft } from "../test/support/croft.ts";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { createSshClient } from "../test/support/forge/ssh-client.ts";
import { makeHome } from "./daemon.ts";
import { atMost, findProgram, median, ratio, report, residentMiB, untilThere } from "./measure.ts";

// Files, history and pages of a repository of 10,000 commits and 50,000 files; clones over SSH beside OpenSSH's server; and
// memory while ten clones run.

const COMMITS = 10_000;
const FOLDERS = 500;
const FILES_PER_FOLDER = 100;
const REQUESTS = 60;
const DIFF_LINES = 2_000;
const SSH_MIB = 50;
const SSH_ROUNDS = 5;
const CLONE_MIB = 200;
const CLONES = 10;

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), "croft-bench-repositories-"));
const env = clientEnvironment(work);
const git = (...args: string[]) => run("git", args, { cwd: work, env, maxBuffer: 1 << 26 });

try {
  await using home = await makeHome();
  const root = join(home.home, "repositories", "keeper");
  const sshPort = await findFreePort();
  await using daemon = await home.serve({ CROFT_SSH_PORT: String(sshPort) });
  const api = (method: string, path: string, body?: object) =>
    fetch(`${daemon.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `token ${home.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const adopt = async (name: string) => {
    const { status } = await api("POST", `/admin/unadopted/keeper/${name}`);
    if (status !== 204) throw new Error(`${name} was not adopted: ${status}`);
    await api("PATCH", `/repos/keeper/${name}`, { private: false });
  };
  await mkdir(root, { recursive: true });
  await makeHistory(join(root, "history.git"));
  await adopt("history");
  // A job writes it in the background, once for a repository that comes with a long history.
  await untilThere(join(root, "history.git/objects/info/commit-graphs/commit-graph-chain"));
  await historyFigures(daemon.url);
  await makeBlob("large", SSH_MIB);
  await git("clone", "-q", "--bare", "large", join(root, "large.git"));
  await adopt("large");
  await sshFigures(join(root, "large.git"), sshPort, (key) =>
    api("POST", "/user/keys", { title: "bench", key }),
  );
  await makeBlob("huge", CLONE_MIB);
  await git("clone", "-q", "--bare", "huge", join(root, "huge.git"));
  await adopt("huge");
  await memoryFigures(daemon);
} finally {
  await rm(work, { recursive: true, force: true });
}

/** One commit with all files, then commits that change one file each, and one that changes many lines. */
async function makeHistory(target: string): Promise<void> {
  await git("init", "-q", "--bare", "-b", "main", target);
  const child = spawn("git", ["fast-import", "--quiet"], {
    cwd: target,
    env,
    stdio: ["pipe", "inherit", "inherit"],
  });
  const write = async (text: string) => {
    if (!child.stdin.write(text)) await once(child.stdin, "drain");
  };
  const begin = (index: number, message: string) =>
    write(
      `commit refs/heads/main\ncommitter Mira <mira@example.org> ${1_600_000_000 + index} +0000\ndata ${message.length}\n${message}\n`,
    );
  const file = (path: string, text: string) =>
    write(`M 100644 inline ${path}\ndata ${text.length}\n${text}\n`);
  await begin(0, "every file");
  for (let folder = 0; folder < FOLDERS; folder += 1)
    for (let index = 0; index < FILES_PER_FOLDER; index += 1)
      await file(toPath(folder, index), toText(folder * index, 40));
  await file("README.md", "# History\n\nA repository with *many* commits.\n");
  for (let index = 1; index < COMMITS - 1; index += 1) {
    await begin(index, `change ${index}`);
    const folder = (index * 7) % FOLDERS;
    await file(toPath(folder, index % FILES_PER_FOLDER), toText(index, 40));
  }
  await begin(COMMITS - 1, "many lines");
  await file("lines.txt", toText(1, DIFF_LINES));
  child.stdin.end("done\n");
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}

function toPath(folder: number, index: number): string {
  return `folder-${folder % 10}/part-${folder}/file-${index}.ts`;
}

function toText(seed: number, lines: number): string {
  return Array.from(
    { length: lines },
    (_, line) => `export const value${line} = ${seed} * ${line}; // line ${line} of this file\n`,
  ).join("");
}

async function historyFigures(url: string): Promise<void> {
  const repository = `${url}/api/v1/repos/keeper/history`;
  const sha = (await (await fetch(`${repository}/commits?limit=1`)).json())[0].sha as string;
  const files = Array.from({ length: REQUESTS }, (_, index) =>
    toPath((index * 37) % FOLDERS, (index * 11) % FILES_PER_FOLDER),
  );
  const contents = await timesOf(files.map((path) => `${repository}/contents/${path}`));
  const again = await timesOf(files.map((path) => `${repository}/contents/${path}`));
  const same = (address: string) => timesOf(Array<string>(REQUESTS).fill(address));
  const first = await same(`${url}/keeper/history/commits/branch/main`);
  const middle = await same(`${url}/keeper/history/commits/branch/main?page=150`);
  const page = await same(`${url}/keeper/history`);
  const folder = await same(`${url}/keeper/history/src/branch/main/folder-3/part-33`);
  const folders = Array.from({ length: REQUESTS }, (_, index) =>
    toPath((index * 37) % FOLDERS, 0).replace(/\/[^/]*$/, ""),
  );
  const listed = await timesOf(folders.map((path) => `${repository}/contents/${path}`));
  const top = await same(`${repository}/contents`);
  const diff = await same(`${repository}/git/commits/${sha}.diff`);
  const diffPage = await same(`${url}/keeper/history/commit/${sha}`);
  report(
    `a repository of ${COMMITS} commits and ${FOLDERS * FILES_PER_FOLDER} files, medians`,
    "A person waits for a page; each takes one to three git processes of a few milliseconds.",
    [
      atMost("contents of a file, each for the first time", median(contents), 15, "ms"),
      atMost("contents of a file again", median(again), 15, "ms"),
      { label: "list of a folder of 100 files, first", value: `${median(listed).toFixed(0)} ms` },
      { label: "list of the top folder", value: `${median(top).toFixed(0)} ms` },
      atMost("page of commits, the first", median(first), 30, "ms"),
      atMost("page of commits, the 150th", median(middle), 30, "ms"),
      atMost(`diff of ${DIFF_LINES} lines`, median(diff), 100, "ms"),
      atMost("page of the commit with this diff", median(diffPage), 100, "ms"),
      atMost("page of the repository", median(page), 60, "ms"),
      atMost("page of a folder of 100 files", median(folder), 60, "ms"),
    ],
  );
}

/** Milliseconds until each answer was read whole; every address but the first few, which warm up. */
async function timesOf(addresses: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const address of addresses) {
    const startedAt = performance.now();
    const answer = await fetch(address, { headers: { Accept: "*/*" } });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    times.push(performance.now() - startedAt);
  }
  return times.slice(5);
}

/** A repository with one file of random bytes: a clone is moving them. */
async function makeBlob(name: string, mib: number): Promise<void> {
  await git("init", "-q", "-b", "main", name);
  const file = join(work, name, "bytes");
  for (let written = 0; written < mib; written += 10)
    await appendFile(file, randomBytes(10 * 1024 * 1024));
  await git("-C", name, "add", ".");
  await git("-C", name, "commit", "-q", "-m", "bytes");
}

async function sshFigures(
  directory: string,
  port: number,
  addKey: (key: string) => Promise<Response>,
): Promise<void> {
  const sshd = await findProgram("sshd", "/usr/sbin/sshd");
  if (sshd === undefined) {
    console.log("\nclones over SSH: skipped, OpenSSH's server is not installed");
    return;
  }
  let current = port;
  await using client = await createSshClient(() => current);
  const key = await client.newKey("mira");
  const { status } = await addKey(key);
  if (status !== 201) throw new Error(`the key was not added: ${status}`);
  await using theirs = await startSshd(sshd, key);
  const clone = (at: number, address: string) => async () => {
    current = at;
    const startedAt = performance.now();
    const { exitCode, stderr } = await client.git("mira", "clone", "-q", "--bare", address, "out");
    const ms = performance.now() - startedAt;
    if (exitCode !== 0) throw new Error(stderr);
    await rm(join(client.folder, "out"), { recursive: true });
    return ms;
  };
  const ours = clone(port, "git@127.0.0.1:keeper/large.git");
  const other = clone(theirs.port, `${userInfo().username}@127.0.0.1:${directory}`);
  await ours();
  await other();
  const measured = await ratio(SSH_ROUNDS, ours, other);
  report(
    `clone of ${SSH_MIB} MiB over SSH`,
    "git does the work itself; croft adds encryption in JavaScript and authentication.",
    [
      { label: "croft", value: `${measured.a.toFixed(0)} ms` },
      { label: "git-upload-pack through OpenSSH", value: `${measured.b.toFixed(0)} ms` },
      atMost("croft / OpenSSH", measured.ratio, 1.3, ""),
    ],
  );
}

/** OpenSSH's server on a free port of the loopback address, for one key. */
async function startSshd(program: string, key: string) {
  const folder = await mkdtemp(join(work, "sshd-"));
  const port = await findFreePort();
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, "host")]);
  await writeFile(join(folder, "keys"), `${key}\n`, { mode: 0o600 });
  const settings = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "keys")}`,
    `PidFile ${join(folder, "pid")}`,
    "StrictModes no",
    "UsePAM no",
    "PermitRootLogin prohibit-password",
  ];
  await writeFile(join(folder, "config"), `${settings.join("\n")}\n`);
  const child = spawn(program, ["-D", "-e", "-f", join(folder, "config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  // It says on standard error that it listens.
  await Promise.race([
    once(child.stderr, "data"),
    ended.then(([code]) => Promise.reject(new Error(`sshd ended with ${code}`))),
  ]);
  child.stderr.resume();
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function memoryFigures(daemon: ServedCroft): Promise<void> {
  const idle = await residentMiB(daemon.pid);
  let peak = idle;
  const timer = setInterval(() => {
    void residentMiB(daemon.pid).then((now) => (peak = Math.max(peak, now)));
  }, 50);
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: CLONES }, (_, index) =>
      git("clone", "-q", "--bare", `${daemon.url}/keeper/huge.git`, `clone-${index}`),
    ),
  );
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1000;
  report(
    `${CLONES} clones of ${CLONE_MIB} MiB at once`,
    "Bytes of clones are passed on, not collected.",
    [
      { label: "whole", value: `${seconds.toFixed(1)} s` },
      { label: "memory before", value: `${idle.toFixed(0)} MiB` },
      atMost("memory meanwhile", peak, 300, "MiB"),
    ],
  );
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
