import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import ssh2, { type Client } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";

let daemon: TestDaemon;
let client: SshClient;
const people = createForgePeople(() => daemon);
const { api, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  client = await createSshClient(() => daemon.sshPort ?? 0);
  for (const name of ["mira", "nora", "outsider"]) {
    await people.newUser(name);
    await addKey(name, await client.newKey(name));
  }
  const repository = { name: "hut", private: true, auto_init: true };
  await by("mira", "POST", "/user/repos", repository);
  await by("mira", "PUT", "/repos/mira/hut/collaborators/nora", { permission: "read" });
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function addKey(user: string, key: string, title = "key"): Promise<number> {
  const made = await by(user, "POST", "/user/keys", { title, key });
  expect(made.status, made.text).toBe(201);
  return made.json.id;
}

const addressOf = (path: string) => `ssh://git@127.0.0.1:${daemon.sshPort}/${path}.git`;

describe("clone and push", () => {
  test("an owner clones and pushes by the address in ssh_url", async () => {
    const { ssh_url: address } = (await by("mira", "GET", "/repos/mira/hut")).json;
    expect(address).toBe(addressOf("mira/hut"));
    const cloned = await client.git("mira", "clone", "-q", address, "own");
    expect(cloned).toMatchObject({ exitCode: 0 });
    await client.git("mira", "-C", "own", "commit", "-q", "--allow-empty", "-m", "Over SSH");
    const pushed = await client.git("mira", "-C", "own", "push", "-q", "origin", "HEAD:main");
    expect(pushed).toMatchObject({ exitCode: 0, stderr: "" });
    // Hooks, counts and notifications see it as any push.
    expect((await by("mira", "GET", "/repos/mira/hut")).json.empty).toBe(false);
    await client.git("mira", "-C", "own", "push", "-q", "origin", "HEAD:refs/heads/gone");
    expect((await by("mira", "GET", "/repos/mira/hut")).json.branch_count).toBe(2);
    const deleted = await client.git("mira", "-C", "own", "push", "-q", "origin", ":gone");
    expect(deleted).toMatchObject({ exitCode: 0 });
    expect((await by("mira", "GET", "/repos/mira/hut")).json.branch_count).toBe(1);
  });

  test.each(["0", "1", "2"])("git over SSH fetches with protocol version %s", async (version) => {
    const name = `v${version}`;
    const words = ["-c", `protocol.version=${version}`, "clone", "-q", addressOf("mira/hut"), name];
    expect(await client.git("mira", ...words)).toMatchObject({ exitCode: 0 });
    expect((await client.git("mira", "-C", name, "log", "--oneline")).stdout).toContain("Over SSH");
    await client.git("mira", "-C", "own", "commit", "-q", "--allow-empty", "-m", `After ${name}`);
    await client.git("mira", "-C", "own", "push", "-q", "origin", "HEAD:main");
    expect(await client.git("mira", "-C", name, "pull", "-q")).toMatchObject({ exitCode: 0 });
  });

  test("git archive works over SSH, and so does the old spelling of a command", async () => {
    const archived = await client.git(
      "mira",
      "archive",
      `--remote=${addressOf("mira/hut")}`,
      "HEAD",
    );
    expect(archived.exitCode, archived.stderr).toBe(0);
    expect(archived.stdout).toContain("README.md");
    const old = await client.ssh("mira", ["git@127.0.0.1", "git upload-archive '/mira/none.git'"]);
    expect(old).toMatchObject({ exitCode: 1, stderr: "croft: repository not found\n" });
  });

  test("a thousand refs are pushed over SSH with a notice of what most of them do not have, and fetched", async () => {
    await by("mira", "POST", "/user/repos", { name: "refs" });
    const refs = Array.from({ length: 1_000 }, (_, index) => `HEAD:refs/heads/b${index}`);
    const pushed = await client.git(
      "mira",
      "-C",
      "own",
      "push",
      "-q",
      addressOf("mira/refs"),
      ...refs,
    );
    expect(pushed).toMatchObject({ exitCode: 0 });
    expect(pushed.stderr).toMatch(
      /^remote: This push changes 1000 branches and tags\. *\nremote: Workflows run for the first 200\. *$/m,
    );
    const listed = await client.git("mira", "ls-remote", "--heads", addressOf("mira/refs"));
    expect(listed.stdout.trim().split("\n")).toHaveLength(1_000);
  });

  test.each(["HTTP", "SSH"])("a push that is refused over %s leaves no objects", async (way) => {
    const name = `clean-${way.toLowerCase()}`;
    await by("mira", "POST", "/user/repos", { name, auto_init: true });
    const rule = { rule_name: "main", enable_push: true };
    await by("mira", "POST", `/repos/mira/${name}/branch_protections`, rule);
    const web = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    const address = way === "SSH" ? addressOf(`mira/${name}`) : `${web}/mira/${name}.git`;
    const run = (...args: string[]) => client.git("mira", "-C", name, ...args);
    expect(await client.git("mira", "clone", "-q", address, name)).toMatchObject({ exitCode: 0 });
    const objects = join(daemon.home, "repositories/mira", `${name}.git/objects`);
    const list = () => readdir(objects, { recursive: true });
    const before = await list();
    await run("commit", "-q", "--amend", "-m", "Another beginning");
    await writeFile(join(client.folder, name, "large.bin"), randomBytes(300_000));
    await run("add", ".");
    await run("commit", "-q", "-m", "More than unpackLimit does not matter");
    const refused = await run("push", "--force", "origin", "HEAD:main", "HEAD:refs/heads/other");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain(
      "[remote rejected] HEAD -> main (branch main is protected from force push)",
    );
    expect(await list()).toEqual(before);
    expect((await by("mira", "GET", `/repos/mira/${name}/branches`)).json).toHaveLength(1);
    expect(await run("push", "-q", "origin", "HEAD:refs/heads/other")).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("Create a new pull request for 'other':"),
    });
    expect((await list()).length).toBeGreaterThan(before.length);
    expect((await by("mira", "GET", `/repos/mira/${name}/branches`)).json).toHaveLength(2);
  });

  test("keys of every accepted type sign in", async () => {
    for (const type of ["ecdsa", "rsa"] as const) {
      await addKey("mira", await client.newKey(type, type), type);
      const ended = await client.git(type, "ls-remote", addressOf("mira/hut"));
      expect({ type, ...ended }).toMatchObject({ type, exitCode: 0 });
    }
    const [key] = (await by("mira", "GET", "/user/keys")).json;
    expect(Date.parse(key.last_used_at)).toBeGreaterThan(0);
  });
});

describe("access", () => {
  test("over SSH a reader clones and cannot push, and others do not learn that the repository exists", async () => {
    expect(await client.git("nora", "clone", "-q", addressOf("mira/hut"), "theirs")).toMatchObject({
      exitCode: 0,
    });
    await client.git("nora", "-C", "theirs", "commit", "-q", "--allow-empty", "-m", "No");
    const pushed = await client.git("nora", "-C", "theirs", "push", "-q", "origin", "HEAD:main");
    expect(pushed.exitCode).not.toBe(0);
    expect(pushed.stderr).toContain("you may not push to this repository");
    for (const path of ["mira/hut", "mira/none"]) {
      const refused = await client.git("outsider", "ls-remote", addressOf(path));
      expect(refused.stderr).toContain("croft: repository not found");
    }
  });

  test("an unknown key, another user name and a deleted key are refused", async () => {
    const line = await client.newKey("stranger");
    const refused = await client.ssh("stranger", ["git@127.0.0.1", "git-upload-pack 'mira/hut'"]);
    expect(refused).toMatchObject({ exitCode: 255 });
    expect(refused.stderr).toContain("Permission denied (publickey)");
    expect((await client.ssh("mira", ["root@127.0.0.1"])).exitCode).toBe(255);
    const id = await addKey("outsider", line, "second");
    const hello = await client.ssh("stranger", ["-T", "git@127.0.0.1"]);
    expect(hello).toMatchObject({ exitCode: 1 });
    expect(hello.stderr).toContain("Hi outsider!");
    await by("outsider", "DELETE", `/user/keys/${id}`);
    expect((await client.ssh("stranger", ["-T", "git@127.0.0.1"])).exitCode).toBe(255);
  });

  test("a lost right or a locked account refuses the next command of an open connection", async () => {
    const socket = join(client.folder, "control");
    const shared = ["-o", `ControlPath=${socket}`];
    const master = client.start("nora", [...shared, "-M", "-N", "git@127.0.0.1"]);
    const run = (line: string) => client.ssh("nora", [...shared, "git@127.0.0.1", line]);
    await expect
      .poll(
        async () =>
          (await client.ssh("nora", [...shared, "-O", "check", "git@127.0.0.1"])).exitCode,
      )
      .toBe(0);
    const archive = "git-upload-archive 'mira/hut'";
    expect((await run(archive)).stderr).not.toContain("not found");
    await by("mira", "DELETE", "/repos/mira/hut/collaborators/nora");
    expect((await run(archive)).stderr).toContain("croft: repository not found");
    const edit = { source_id: 0, login_name: "nora", prohibit_login: true };
    await api("PATCH", "/admin/users/nora", edit);
    expect((await run(archive)).stderr).toContain("prohibited from signing in");
    const closed = once(master, "close");
    master.kill();
    await closed;
  });
});

/** The library's internal protocol, for messages that its client cannot send. */
interface Protocol {
  rekey(): void;
  /** Sends a request that the server refuses. */
  ping(): void;
}

/** Connects with the test's library, which can break rules, and waits for the first key exchange. */
async function connectHostile(privateKey?: Buffer) {
  const hostile: Client = new ssh2.Client();
  hostile.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => hostile.on("close", resolve));
  const ready = once(hostile, privateKey === undefined ? "handshake" : "ready");
  hostile.connect({
    host: "127.0.0.1",
    port: daemon.sshPort ?? 0,
    username: "git",
    readyTimeout: 0,
    // Without a key it never tries to sign in.
    ...(privateKey === undefined ? { authHandler: () => undefined } : { privateKey }),
  });
  await ready;
  return { hostile, closed, protocol: (hostile as unknown as { _protocol: Protocol })._protocol };
}

describe("hostile clients", () => {
  test("closes a connection that exchanges keys again before it has signed in", async () => {
    const { closed, protocol } = await connectHostile();
    protocol.rekey();
    await closed;
  });

  test("closes a connection that sends a flood of requests before it has signed in", async () => {
    const { hostile, closed, protocol } = await connectHostile();
    for (let sent = 0; sent < 5_000; sent += 1) protocol.ping();
    await closed;
    hostile.destroy();
  });

  test("closes a connection that exchanges keys again and again without transferring anything", async () => {
    const key = await readFile(join(client.folder, "mira"));
    const { hostile, closed, protocol } = await connectHostile(key);
    let rekeys = 0;
    hostile.on("handshake", () => {
      rekeys += 1;
      protocol.rekey();
    });
    protocol.rekey();
    await closed;
    expect(rekeys).toBeGreaterThan(1);
    expect(rekeys).toBeLessThan(10);
  });

  test("refuses further sessions on a connection with many that run nothing", async () => {
    const key = await readFile(join(client.folder, "mira"));
    const { hostile } = await connectHostile(key);
    const open = () =>
      new Promise<string>((resolve) => {
        // A subsystem is refused, and its session stays.
        hostile.subsys("sftp", (error) => resolve(error?.message ?? "opened"));
      });
    const answers = [];
    for (let opened = 0; opened < 12; opened += 1) answers.push(await open());
    expect(answers.slice(0, 10)).toEqual(Array(10).fill(expect.stringContaining("subsystem")));
    expect(answers.slice(10)).toEqual(Array(2).fill(expect.stringContaining("open failure")));
    hostile.destroy();
  });

  test("keeps a connection that exchanges keys with the bytes that it transfers", async () => {
    await using often = await createSshClient(() => daemon.sshPort ?? 0, ["RekeyLimit=2M"]);
    await addKey("mira", await often.newKey("often"), "often");
    await by("mira", "POST", "/user/repos", { name: "rekeyed" });
    await often.git("often", "init", "-q", "large");
    await writeFile(join(often.folder, "large", "random"), randomBytes(24 * 1024 * 1024));
    await often.git("often", "-C", "large", "add", "random");
    await often.git("often", "-C", "large", "commit", "-q", "-m", "Large");
    const to = addressOf("mira/rekeyed");
    const pushed = await often.git("often", "-C", "large", "push", "-q", to, "HEAD:main");
    expect(pushed).toMatchObject({ exitCode: 0 });
  });

  test.each([
    "ls",
    "git-upload-pack",
    "git-upload-pack 'mira/hut'; id",
    "git-upload-pack 'mira/../mira/hut'",
    "git-upload-pack '../../etc/passwd'",
    "git-upload-pack --help",
    "git-upload-pack --upload-pack=id 'mira/hut'",
    "git-upload-pack 'mira/hut' 'mira/hut'",
    "git-upload-pack $(id)/hut",
    "git-receive-pack 'mira/..'",
    "git-shell -c id",
    "sh -c 'git-upload-pack mira/hut'",
    `git-upload-pack '${"a/".repeat(600)}b'`,
  ])("the SSH server does not run %s", async (line) => {
    const ended = await client.ssh("mira", ["git@127.0.0.1", line]);
    expect(ended).toMatchObject({ exitCode: 1, stdout: "" });
    expect(ended.stderr).toContain("croft: Only git's upload-pack");
  });

  test("refuses forwarding, agents, terminals, subsystems and variables", async () => {
    const forward = await client.ssh("mira", ["-W", "127.0.0.1:22", "git@127.0.0.1"]);
    expect(forward.exitCode).toBe(255);
    expect(forward.stderr).toMatch(/administratively prohibited|open failed/);
    const listen = [
      "-o",
      "ExitOnForwardFailure=yes",
      "-N",
      "-R",
      "0:127.0.0.1:22",
      "git@127.0.0.1",
    ];
    expect((await client.ssh("mira", listen)).stderr).toContain("remote port forwarding failed");
    const terminal = await client.ssh("mira", ["-tt", "git@127.0.0.1"]);
    expect(terminal.stderr).toContain("PTY allocation request failed");
    const subsystem = await client.ssh("mira", ["-s", "git@127.0.0.1", "sftp"]);
    expect(subsystem.exitCode).not.toBe(0);
    const variables = ["-o", "SetEnv=GIT_TRACE=1 LD_PRELOAD=/x", "-A", "git@127.0.0.1"];
    const archive = await client.ssh("mira", [...variables, "git-upload-archive 'mira/none'"]);
    expect(archive.stderr).toBe("croft: repository not found\n");
  });

  test("survives garbage and a client that leaves in the middle", async () => {
    const socket = createConnection(daemon.sshPort ?? 0, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    await once(socket, "connect");
    socket.write(Buffer.alloc(100_000, 0xff));
    await once(socket, "close");
    const clone = client.start("mira", ["git@127.0.0.1", "git-upload-pack 'mira/hut'"]);
    await once(clone.stdout ?? clone, "data");
    const closed = once(clone, "close");
    clone.kill("SIGKILL");
    await closed;
    expect(await client.git("mira", "ls-remote", addressOf("mira/hut"))).toMatchObject({
      exitCode: 0,
    });
  });
});

test("the host keys stay after a restart, and SSH can be turned off", async () => {
  await using keys = await createSshClient(() => again.sshPort ?? 0);
  const line = await keys.newKey("mira");
  const first = await startTestDaemon();
  let again = first;
  const token = first.first?.forge.token ?? "";
  const made = await first.request("/api/v1/user/keys", { token, json: { title: "k", key: line } });
  expect(made.status).toBe(201);
  expect((await keys.ssh("mira", ["-T", "git@127.0.0.1"])).exitCode).toBe(1);
  await first.stop();
  const { home } = first;
  again = await startTestDaemon({ home, env: { CROFT_SSH_PORT: String(first.sshPort) } });
  // The client refuses a changed host key.
  expect((await keys.ssh("mira", ["-T", "git@127.0.0.1"])).exitCode).toBe(1);
  await again.stop();
  await using off = await startTestDaemon({ home, env: { CROFT_SSH: "off" } });
  expect(off.sshPort).toBeUndefined();
  await off.request("/api/v1/user/repos", { token, json: { name: "quiet" } });
  expect((await off.request("/api/v1/repos/keeper/quiet", { token })).json.ssh_url).toBe("");
  await off.stop();
  await first[Symbol.asyncDispose]();
});
