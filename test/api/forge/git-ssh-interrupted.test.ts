import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";

// Commands over SSH that do not come to their end: clients that leave, rights and repositories that go, pushes that are too
// large. Nothing of them may stay.

/** More than the buffers of a connection hold. */
const SIZE = 24_000_000;
const LIMIT = 64_000_000;
let daemon: TestDaemon;
let client: SshClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const isHere = process.platform === "linux";

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off", CROFT_MAX_UPLOAD_BYTES: String(LIMIT) },
  });
  client = await createSshClient(() => daemon.sshPort ?? 0);
  for (const name of ["mira", "noah"]) {
    await people.newUser(name);
    const key = await client.newKey(name);
    expect((await by(name, "POST", "/user/keys", { title: "key", key })).status).toBe(201);
  }
  await newRepository("big", SIZE);
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const addressOf = (name: string) => `ssh://git@127.0.0.1:${daemon.sshPort}/mira/${name}.git`;
const git = async (...words: readonly string[]) => {
  const ended = await client.git("mira", ...words);
  expect(ended, words.join(" ")).toMatchObject({ exitCode: 0 });
  return ended.stdout.trim();
};

/** A private repository of mira's with a file of random bytes, pushed; noah may write to it. */
async function newRepository(name: string, bytes: number): Promise<void> {
  await by("mira", "POST", "/user/repos", { name, private: true });
  await by("mira", "PUT", `/repos/mira/${name}/collaborators/noah`, { permission: "write" });
  await git("init", "-q", "-b", "main", name);
  await git("-C", name, "remote", "add", "origin", addressOf(name));
  await commit(name, bytes);
  await git("-C", name, "push", "-q", "origin", "main");
}

async function commit(name: string, bytes: number): Promise<void> {
  await writeFile(join(client.folder, name, "noise"), randomBytes(bytes));
  await git("-C", name, "add", ".");
  await git("-C", name, "commit", "-q", "-m", "noise");
}

/** The whole repository as one pack. */
async function readPack(name: string): Promise<Buffer> {
  await git("-C", name, "repack", "-q", "-a", "-d");
  const packs = join(client.folder, name, ".git/objects/pack");
  const [pack = ""] = (await readdir(packs)).filter((each) => each.endsWith(".pack"));
  return readFile(join(packs, pack));
}

/** The programs of git that the daemon, which is this process, has started and that run. */
async function runningGits(): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [, name = "", state, parent] = /^\d+ \((.*)\) (\S) (\d+) /.exec(status) ?? [];
    const words = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    const isServer = /upload-pack|receive-pack|index-pack|unpack-objects|pack-objects/.test(words);
    if (state !== "Z" && isServer && name.startsWith("git") && Number(parent) === process.pid)
      found.push(`${pid} ${words}`);
  }
  return found;
}

/** Temporary packs, quarantined objects and locks of a repository. */
async function leftOvers(name: string): Promise<string[]> {
  const all = await readdir(join(daemon.home, "repositories/mira", `${name}.git`), {
    recursive: true,
  });
  return all.filter((each) => /(?:^|\/)(?:tmp_|incoming-)|\.lock$/.test(each));
}

/** Starts git's program over SSH and resolves with the first bytes of its output. */
async function start(user: string, line: string) {
  const child = client.start(user, ["git@127.0.0.1", line]);
  const closed = once(child, "close");
  const parts: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => parts.push(chunk));
  await expect.poll(() => parts.length).toBeGreaterThan(0);
  return { child, closed, output: () => Buffer.concat(parts).toString("latin1") };
}

const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
const quiet = async () => {
  if (isHere) await expect.poll(runningGits, { timeout: 60_000 }).toEqual([]);
};

describe("a client that leaves", () => {
  test("a client that disconnects during a clone leaves no git process", async () => {
    const head = await git("-C", "big", "rev-parse", "main");
    const { child, closed, output } = await start("mira", "git-upload-pack 'mira/big.git'");
    const wants = `${pkt(`want ${head} side-band-64k ofs-delta agent=test\n`)}0000${pkt("done\n")}`;
    child.stdin?.write(wants);
    await expect.poll(() => output().length).toBeGreaterThan(100_000);
    child.kill("SIGKILL");
    await closed;
    await quiet();
    expect((await client.git("mira", "ls-remote", addressOf("big"))).exitCode).toBe(0);
  });

  test("a client that disconnects during a push leaves no git process, lock or temporary pack", async () => {
    await newRepository("torn", 1_000);
    const before = await git("-C", "torn", "rev-parse", "main");
    await commit("torn", SIZE);
    const after = await git("-C", "torn", "rev-parse", "main");
    const bytes = await readPack("torn");
    for (const part of [0.2, 0.9]) {
      const { child, closed } = await start("mira", "git-receive-pack 'mira/torn.git'");
      const command = `${before} ${after} refs/heads/main\0report-status`;
      child.stdin?.on("error", () => undefined);
      child.stdin?.write(`${pkt(command)}0000`);
      child.stdin?.write(bytes.subarray(0, bytes.byteLength * part));
      await expect.poll(() => leftOvers("torn")).not.toEqual([]);
      child.kill("SIGKILL");
      await closed;
      await quiet();
      await expect.poll(() => leftOvers("torn"), { timeout: 60_000 }).toEqual([]);
      expect((await by("mira", "GET", "/repos/mira/torn/branches/main")).json.commit.id).toBe(
        before,
      );
    }
    await git("-C", "torn", "push", "-q", "origin", "main");
    await expect.poll(() => leftOvers("torn")).toEqual([]);
  });
});

test("a push beyond the limit is refused with the reason, and leaves no files", async () => {
  await newRepository("heavy", 1_000);
  await commit("heavy", LIMIT + 1_000_000);
  const pushed = await client.git("mira", "-C", "heavy", "push", "-q", "origin", "main");
  expect(pushed.exitCode).not.toBe(0);
  expect(pushed.stderr).toContain("pack exceeds maximum allowed size");
  await quiet();
  await expect.poll(() => leftOvers("heavy"), { timeout: 60_000 }).toEqual([]);
});

describe("rights and repositories that are removed during a transfer", () => {
  test("a push whose right was revoked before its commands arrive changes nothing", async () => {
    await newRepository("lost", 1_000);
    const head = await git("-C", "lost", "rev-parse", "main");
    await git("-C", "lost", "push", "-q", "origin", "main:refs/heads/second");
    for (const [take, reason] of [
      [
        () => by("mira", "PUT", "/repos/mira/lost/collaborators/noah", { permission: "read" }),
        "you may not push",
      ],
      [() => by("mira", "DELETE", "/repos/mira/lost/collaborators/noah"), "you may not push"],
    ] as const) {
      await by("mira", "PUT", "/repos/mira/lost/collaborators/noah", { permission: "write" });
      const { child, closed, output } = await start("noah", "git-receive-pack 'mira/lost.git'");
      await take();
      const command = `${head} ${"0".repeat(40)} refs/heads/second\0report-status`;
      child.stdin?.end(`${pkt(command)}0000`);
      await closed;
      expect(output()).toContain(`ng refs/heads/second ${reason}`);
    }
    expect((await by("mira", "GET", "/repos/mira/lost/branches/second")).status).toBe(200);
    await quiet();
  });

  test("a push whose key, right or account was revoked before the end of its pack changes nothing", async () => {
    await newRepository("late", 1_000);
    const before = await git("-C", "late", "rev-parse", "main");
    await commit("late", 100_000);
    const after = await git("-C", "late", "rev-parse", "main");
    const bytes = await readPack("late");
    await people.newUser("olga");
    const share = { permission: "write" };
    await by("mira", "PUT", "/repos/mira/late/collaborators/olga", share);
    const addKey = async (owner: string, path: string, name: string) => {
      const key = await client.newKey(name);
      const made = await by(owner, "POST", path, { title: name, key, read_only: false });
      expect(made.status, made.text).toBe(201);
      return `${path}/${made.json.id}`;
    };
    const own = await addKey("olga", "/user/keys", "olga-1");
    await addKey("olga", "/user/keys", "olga-2");
    const deploy = await addKey("mira", "/repos/mira/late/keys", "deploy");
    const lock = { source_id: 0, login_name: "olga", prohibit_login: true };
    const pushUntil = async (key: string, revoke?: () => Promise<unknown>) => {
      const { child, closed, output } = await start(key, "git-receive-pack 'mira/late.git'");
      const command = `${before} ${after} refs/heads/main\0report-status`;
      child.stdin?.on("error", () => undefined);
      child.stdin?.write(`${pkt(command)}0000`);
      child.stdin?.write(bytes.subarray(0, -100));
      await expect.poll(() => leftOvers("late")).not.toEqual([]);
      await revoke?.();
      // The client keeps its side open, as git does.
      child.stdin?.write(bytes.subarray(-100));
      await closed;
      const branch = await by("mira", "GET", "/repos/mira/late/branches/main");
      return { output: output(), head: branch.json.commit.id };
    };
    const revoked = "ng refs/heads/main the credentials were revoked";
    for (const [key, revoke, reason] of [
      ["olga-1", () => by("olga", "DELETE", own), revoked],
      ["deploy", () => by("mira", "DELETE", deploy), revoked],
      [
        "olga-2",
        () => by("mira", "DELETE", "/repos/mira/late/collaborators/olga"),
        "ng refs/heads/main you may not push",
      ],
    ] as const) {
      const ended = await pushUntil(key, revoke);
      expect(ended.output).toContain(reason);
      expect(ended.head).toBe(before);
    }
    await by("mira", "PUT", "/repos/mira/late/collaborators/olga", share);
    const locked = await pushUntil("olga-2", () => people.api("PATCH", "/admin/users/olga", lock));
    expect(locked.output).toContain(revoked);
    expect(locked.head).toBe(before);
    const valid = await pushUntil("mira");
    expect(valid.output).toContain("ok refs/heads/main");
    expect(valid.head).toBe(after);
    await quiet();
    await expect.poll(() => leftOvers("late")).toEqual([]);
  });

  test("a clone ends when its right or repository is removed, and the next one is refused", async () => {
    for (const [name, take] of [
      ["left", () => by("mira", "DELETE", "/repos/mira/left/collaborators/noah")],
      ["gone", () => by("mira", "DELETE", "/repos/mira/gone")],
    ] as const) {
      await newRepository(name, SIZE);
      const head = await git("-C", name, "rev-parse", "main");
      const { child, closed, output } = await start("noah", `git-upload-pack 'mira/${name}.git'`);
      expect((await take()).status).toBe(204);
      child.stdin?.end(`${pkt(`want ${head} side-band-64k ofs-delta\n`)}0000${pkt("done\n")}`);
      await closed;
      expect(output().length).toBeGreaterThan(0);
      const again = await client.git("noah", "ls-remote", addressOf(name));
      expect(again.stderr).toContain("croft: repository not found");
    }
    await quiet();
  });
});

test("ten commands run at one time on one connection, and one more is refused", async () => {
  const shared = ["-o", `ControlPath=${join(client.folder, "many")}`];
  const master = client.start("mira", [...shared, "-M", "-N", "git@127.0.0.1"]);
  const closed = once(master, "close");
  const check = () => client.ssh("mira", [...shared, "-O", "check", "git@127.0.0.1"]);
  await expect.poll(async () => (await check()).exitCode).toBe(0);
  const line = "git-upload-pack 'mira/big.git'";
  const open = Array.from({ length: 10 }, () =>
    client.start("mira", [...shared, "git@127.0.0.1", line]),
  );
  await Promise.all(open.map((child) => once(child.stdout ?? child, "data")));
  const more = await client.ssh("mira", [
    ...shared,
    "-o",
    "ControlMaster=no",
    "git@127.0.0.1",
    line,
  ]);
  expect(more.stderr).toMatch(/refused|failed/i);
  const ends = open.map((child) => once(child, "close"));
  for (const child of open) child.stdin?.end("0000");
  for (const end of ends) expect((await end)[0]).toBe(0);
  master.kill();
  await closed;
  await quiet();
});
