import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { importRepository } from "../../support/forge/import-stream.ts";

// Clients that leave in the middle of an answer that git makes: git ends, nothing stays open, and the log has one line.

/** More than the buffers of a connection hold. */
const SIZE = 16_000_000;
let daemon: TestDaemon;
let git: GitClient;
let commit: string;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "debug" },
  });
  git = await createGitClient();
  await people.newUser("mira");
  await people.api("POST", "/admin/users/mira/repos", { name: "big" });
  // Text for diffs, which does not compress away.
  const text = () =>
    Buffer.from(
      randomBytes(SIZE / 2)
        .toString("hex")
        .replace(/(.{79})./g, "$1\n"),
    );
  await importRepository(git.folder, "big", [
    { message: "one", files: [{ path: "big.txt", content: text() }] },
    { message: "two", files: [{ path: "big.txt", content: text() }] },
  ]);
  const address = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
  const fast = ["-c", "pack.compression=0", "-c", "pack.window=0"];
  const pushed = await git.in("big", ...fast, "push", "-q", `${address}/mira/big.git`, "main");
  expect(pushed).toMatchObject({ exitCode: 0 });
  commit = (await git.in("big", "rev-parse", "main")).output.trim();
}, 120_000);
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** The programs of git that this process has started and that run. */
async function runningGits(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [, name = "", parent = ""] = /^\d+ \((.*)\) \S (\d+) /.exec(status) ?? [];
    if (Number(parent) === process.pid && name.startsWith("git")) found.push(`${pid} ${name}`);
  }
  return found;
}

const openFiles = async () => (await readdir("/proc/self/fd")).length;

/** Reads the beginning of an answer and leaves. Resolves when the connection is closed. */
function leave(path: string, method: string, headers: Record<string, string>, body?: Buffer) {
  return new Promise<number>((resolve, reject) => {
    const asked = httpRequest(`${daemon.url}${path}`, { method, headers }, (response) => {
      response.once("data", () => asked.destroy());
      response.once("close", () => resolve(response.statusCode ?? 0));
      response.on("error", () => undefined);
    });
    asked.once("error", reject);
    asked.end(body);
  });
}

const isHere = process.platform === "linux";
const api = "/api/v1/repos/mira/big";

type Case = readonly [title: string, method: string, path: () => string, route: string];

const cases: readonly Case[] = [
  ["an archive", "GET", () => `${api}/archive/main.tar.gz`, "forge.repos.archive"],
  ["a zip archive of a page", "GET", () => "/mira/big/archive/main.zip", "forge.pages"],
  ["a raw file", "GET", () => `${api}/raw/big.txt`, "forge.repos.raw"],
  ["a raw file of a page", "GET", () => "/mira/big/raw/branch/main/big.txt", "forge.pages"],
  ["a diff", "GET", () => `${api}/git/commits/${commit}.diff`, "forge.repos.git.commits.diff"],
  ["a patch", "GET", () => `${api}/git/commits/${commit}.patch`, "forge.repos.git.commits.patch"],
  [
    "a comparison",
    "GET",
    () => `${api}/compare/${encodeURIComponent(`${commit}~1...${commit}`)}?output=diff`,
    "forge.repos.compare",
  ],
  ["a clone", "POST", () => "/mira/big.git/git-upload-pack", "forge.git.fetch"],
];

test.runIf(isHere).each(cases)(
  "a client that disconnects from %s leaves no git process, no file, and one log line without an error",
  async (_title, method, path, route) => {
    const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
    const wants = `${pkt(`want ${commit} side-band-64k ofs-delta agent=test\n`)}0000${pkt("done\n")}`;
    const headers: Record<string, string> =
      method === "POST" ? { "Content-Type": "application/x-git-upload-pack-request" } : {};
    const files = await openFiles();
    const logStart = daemon.log.length;
    const body = method === "POST" ? Buffer.from(wants) : undefined;
    expect(await leave(path(), method, headers, body)).toBe(200);
    await expect.poll(runningGits, { timeout: 60_000 }).toEqual([]);
    await expect.poll(openFiles, { timeout: 60_000 }).toBeLessThanOrEqual(files + 1);
    const lines = () =>
      daemon.log.slice(logStart).filter(({ message, route: named }) => {
        return message === "request" && named === route;
      });
    await expect.poll(() => lines().length, { timeout: 60_000 }).toBe(1);
    const loud = daemon.log.slice(logStart).filter(({ level }) => /warn|error|fatal/.test(level));
    expect(loud).toEqual([]);
    // The slots are free again.
    expect((await people.by("mira", "GET", "/repos/mira/big/branches")).status).toBe(200);
  },
  60_000,
);

test("clients that disconnect before git starts cause no errors, by API and by page", async () => {
  const logStart = daemon.log.length;
  const paths = [
    `${api}/contents/big.txt`,
    `${api}/commits`,
    "/mira/big",
    "/mira/big/commits/branch/main",
    `/mira/big/commit/${commit}`,
  ];
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => {
      const path = paths[index % paths.length] ?? "";
      return new Promise<void>((resolve) => {
        const asked = httpRequest(`${daemon.url}${path}`);
        asked.once("error", () => resolve());
        asked.once("response", (response) => response.once("close", () => resolve()).resume());
        asked.end();
        asked.once("socket", (socket) =>
          socket.once("connect", () => setImmediate(() => asked.destroy())),
        );
      });
    }),
  );
  await expect.poll(runningGits, { timeout: 60_000 }).toEqual([]);
  const loud = daemon.log.slice(logStart).filter(({ level }) => /warn|error|fatal/.test(level));
  expect(loud).toEqual([]);
});

test("clients that do not read their downloads and clones leave anonymous pages, code and clones to others", async () => {
  // Shallow, so that git need not look for deltas.
  const want = `0032want ${commit}\n000ddeepen 1\n00000009done\n`;
  const open = (path: string, body?: string) =>
    new Promise<() => void>((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const headers = { "Content-Type": "application/x-git-upload-pack-request" };
      const asked = httpRequest(`${daemon.url}${path}`, { method, headers }, (response) => {
        response.on("error", () => undefined);
        resolve(() => void asked.destroy());
      });
      asked.once("error", reject);
      asked.end(body);
    });
  // As many as one client may have open.
  const held = await Promise.all([
    ...Array.from({ length: 8 }, () => open(`${api}/raw/big.txt`)),
    ...Array.from({ length: 12 }, () => open("/mira/big.git/git-upload-pack", want)),
  ]);
  const get = async (path: string) => (await daemon.request(path)).status;
  expect(await get(`${api}/branches`)).toBe(200);
  expect(await get("/mira/big")).toBe(200);
  expect(await get("/mira/big.git/info/refs?service=git-upload-pack")).toBe(200);
  for (const leaveIt of held) leaveIt();
  if (isHere) await expect.poll(runningGits, { timeout: 60_000 }).toEqual([]);
}, 120_000);
