import { once } from "node:events";
import { createConnection } from "node:net";
import { join } from "node:path";
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
  test("ssh_url names the address, by which an owner clones and pushes", async () => {
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

  test.each(["0", "1", "2"])("protocol version %s fetches", async (version) => {
    const name = `v${version}`;
    const words = ["-c", `protocol.version=${version}`, "clone", "-q", addressOf("mira/hut"), name];
    expect(await client.git("mira", ...words)).toMatchObject({ exitCode: 0 });
    expect((await client.git("mira", "-C", name, "log", "--oneline")).stdout).toContain("Over SSH");
    await client.git("mira", "-C", "own", "commit", "-q", "--allow-empty", "-m", `After ${name}`);
    await client.git("mira", "-C", "own", "push", "-q", "origin", "HEAD:main");
    expect(await client.git("mira", "-C", name, "pull", "-q")).toMatchObject({ exitCode: 0 });
  });

  test("git archive works, and an old spelling of a command", async () => {
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

  test("a thousand refs are pushed and fetched", async () => {
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
    const listed = await client.git("mira", "ls-remote", "--heads", addressOf("mira/refs"));
    expect(listed.stdout.trim().split("\n")).toHaveLength(1_000);
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
  test("a reader clones and cannot push; others do not learn of the repository", async () => {
    expect(await client.git("nora", "clone", "-q", addressOf("mira/hut"), "theirs")).toMatchObject({
      exitCode: 0,
    });
    await client.git("nora", "-C", "theirs", "commit", "-q", "--allow-empty", "-m", "No");
    const pushed = await client.git("nora", "-C", "theirs", "push", "-q", "origin", "HEAD:main");
    expect(pushed.exitCode).not.toBe(0);
    expect(pushed.stderr).toContain("croft: you may not push to this repository");
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

  test("a lost right counts for the next command of an open connection, as does a locked account", async () => {
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

describe("hostile clients", () => {
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
  ])("does not run %s", async (line) => {
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
