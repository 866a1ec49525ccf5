import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createSshClient, type SshClient } from "../../support/forge/ssh-client.ts";

let daemon: TestDaemon;
let client: SshClient;
const people = createForgePeople(() => daemon);
const { api, by } = people;
const hut = "/repos/olga/hut";
const addressOf = (path: string) => `ssh://git@127.0.0.1:${daemon.sshPort}/${path}.git`;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  client = await createSshClient(() => daemon.sshPort ?? 0);
  for (const name of ["olga", "writer", "keeper2", "outsider"]) await people.newUser(name);
  for (const name of ["hut", "shed", "open"])
    await by("olga", "POST", "/user/repos", { name, private: name !== "open", auto_init: true });
  await by("olga", "PUT", `${hut}/collaborators/writer`, { permission: "write" });
  await by("olga", "PUT", `${hut}/collaborators/keeper2`, { permission: "admin" });
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

let names = 0;
/** Makes a key pair and adds it to a repository. Returns the names of the pair and the key as the API has it. */
async function addKey(readOnly: boolean, path = hut) {
  const name = `deploy${(names += 1)}`;
  const line = await client.newKey(name);
  const made = await by("olga", "POST", `${path}/keys`, {
    title: name,
    key: line,
    read_only: readOnly,
  });
  expect(made.status, made.text).toBe(201);
  return { name, line, id: made.json.id as number, keyId: made.json.key_id as number };
}

/** Clones, commits and pushes. Returns how the push ended. */
async function push(name: string, path: string, ref = "HEAD:main", ...flags: string[]) {
  const folder = `work-${name}-${(names += 1)}`;
  const cloned = await client.git(name, "clone", "-q", addressOf(path), folder);
  if (cloned.exitCode !== 0) return cloned;
  await client.git(name, "-C", folder, "commit", "-q", "--allow-empty", "-m", `By ${name}`);
  return client.git(name, "-C", folder, "push", "-q", ...flags, "origin", ref);
}

describe("the routes of deploy keys", () => {
  test("administrators add, list, filter, get and delete keys", async () => {
    const key = await addKey(true, "/repos/olga/shed");
    const path = "/repos/olga/shed/keys";
    const other = await addKey(false, "/repos/olga/shed");
    const listed = await by("olga", "GET", `${path}?limit=1`);
    expect(listed.headers.get("x-total-count")).toBe("2");
    expect(listed.json).toMatchObject([
      {
        id: key.id,
        key: key.line,
        read_only: true,
        repository: { full_name: "olga/shed", permissions: { push: false, pull: true } },
      },
    ]);
    const { fingerprint } = listed.json[0];
    const ids = async (query: string) =>
      (await by("olga", "GET", `${path}?${query}`)).json.map(({ id }: { id: number }) => id);
    expect(await ids(`fingerprint=${encodeURIComponent(fingerprint)}`)).toEqual([key.id]);
    expect(await ids(`key_id=${other.keyId}`)).toEqual([other.id]);
    expect((await by("olga", "GET", `${path}/${other.id}`)).json).toMatchObject({
      read_only: false,
      url: `${daemon.url}/api/v1${path}/${other.id}`,
    });
    expect((await by("olga", "GET", `${hut}/keys/${other.id}`)).status).toBe(404);
    expect((await by("olga", "DELETE", `${hut}/keys/${other.id}`)).status).toBe(204);
    expect((await by("olga", "GET", `${path}/${other.id}`)).status).toBe(200);
    expect((await by("olga", "DELETE", `${path}/${other.id}`)).status).toBe(204);
    expect((await by("olga", "DELETE", `${path}/${other.id}`)).status).toBe(204);
    expect((await by("olga", "GET", `${path}/${other.id}`)).status).toBe(404);
  });

  test("writers and anonymous callers do not see the deploy keys", async () => {
    const key = await client.newKey(`unused${(names += 1)}`);
    const body = { title: "theirs", key };
    for (const [user, status] of [
      ["writer", 403],
      ["outsider", 404],
    ] as const)
      for (const [method, path, json] of [
        ["GET", "", undefined],
        ["POST", "", body],
        ["GET", "/1", undefined],
        ["DELETE", "/1", undefined],
      ] as const)
        expect((await by(user, method, `${hut}/keys${path}`, json)).status).toBe(status);
    expect((await api("GET", `${hut}/keys`, undefined, "")).status).toBe(404);
    expect((await by("keeper2", "GET", `${hut}/keys`)).status).toBe(200);
    const reading = await people.newToken("olga", ["read:repository"]);
    expect((await api("GET", `${hut}/keys`, undefined, reading)).status).toBe(200);
    expect((await api("POST", `${hut}/keys`, body, reading)).status).toBe(403);
  });

  test("a deploy key opens several repositories, but cannot also be a user's key", async () => {
    const key = await addKey(true);
    const add = (path: string, title: string, line = key.line) =>
      by("olga", "POST", path, { title, key: line });
    const message = async (answer: ReturnType<typeof add>) => {
      const { status, json } = await answer;
      return [status, json.message];
    };
    const used = "Key content has been used as non-deploy key";
    const there = await add("/repos/olga/shed/keys", "elsewhere");
    expect(there).toMatchObject({ status: 201, json: { key_id: key.keyId, read_only: false } });
    expect(await message(add(`${hut}/keys`, "again"))).toEqual([
      422,
      "This key has already been added to this repository",
    ]);
    const fresh = await client.newKey(`fresh${(names += 1)}`);
    expect(await message(add(`${hut}/keys`, key.name, fresh))).toEqual([
      422,
      "A key with the same name already exists",
    ]);
    expect(await message(add("/user/keys", "mine"))).toEqual([422, used]);
    expect((await add("/user/keys", "mine", fresh)).status).toBe(201);
    expect(await message(add(`${hut}/keys`, "user's", fresh))).toEqual([422, used]);
    expect((await add(`${hut}/keys`, "none", "not a key")).status).toBe(422);
    expect(await message(add(`${hut}/keys`, ""))).toEqual([422, "[Title]: Required"]);
    // Deleted everywhere, it is free for an account.
    for (const [path, id] of [
      [hut, key.id],
      ["/repos/olga/shed", there.json.id],
    ])
      expect((await by("olga", "DELETE", `${path}/keys/${id}`)).status).toBe(204);
    expect((await add("/user/keys", "now mine")).status).toBe(201);
  });
});

describe("git with a deploy key", () => {
  test("a deploy key reads or writes its own repository and no other one", async () => {
    const reading = await addKey(true);
    const writing = await addKey(false);
    const refused = await push(reading.name, "olga/hut");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain("croft: you may not push to this repository");
    expect(await push(writing.name, "olga/hut")).toMatchObject({ exitCode: 0, stderr: "" });
    const commits = await by("olga", "GET", `${hut}/commits?limit=1`);
    expect(commits.json[0].commit.message).toBe(`By ${writing.name}\n`);
    // Not even a public one: the key belongs to no account.
    for (const path of ["olga/shed", "olga/open", "olga/none"]) {
      const ended = await client.git(writing.name, "ls-remote", addressOf(path));
      expect(ended.stderr).toContain("croft: repository not found");
    }
    const hello = await client.ssh(writing.name, ["-T", "git@127.0.0.1"]);
    expect(hello.stderr).toContain("Hi holder of a deploy key!");
    const strange = await client.ssh(writing.name, ["git@127.0.0.1", "id"]);
    expect(strange.stderr).toContain("croft: Only git's upload-pack");
  });

  test("a deploy key has the permission of the repository in the command", async () => {
    const key = await addKey(true);
    const body = { title: "writes", key: key.line, read_only: false };
    expect((await by("olga", "POST", "/repos/olga/shed/keys", body)).status).toBe(201);
    expect((await push(key.name, "olga/hut")).stderr).toContain("you may not push");
    expect(await push(key.name, "olga/shed")).toMatchObject({ exitCode: 0 });
  });

  test("deleting a deploy key, archiving and locking the owner take effect at once, and a renamed repository redirects", async () => {
    const key = await addKey(false, "/repos/olga/shed");
    const list = () => client.git(key.name, "ls-remote", addressOf("olga/shed"));
    expect((await by("olga", "PATCH", "/repos/olga/shed", { archived: true })).status).toBe(200);
    expect((await push(key.name, "olga/shed")).stderr).toContain("the repository is archived");
    expect((await list()).exitCode).toBe(0);
    expect((await by("olga", "PATCH", "/repos/olga/shed", { archived: false })).status).toBe(200);
    const lock = (locked: boolean) =>
      api("PATCH", "/admin/users/olga", {
        source_id: 0,
        login_name: "olga",
        prohibit_login: locked,
      });
    expect((await lock(true)).status).toBe(200);
    expect((await list()).stderr).toContain("prohibited from signing in");
    expect((await lock(false)).status).toBe(200);
    await by("olga", "PATCH", "/repos/olga/shed", { name: "barn" });
    expect((await list()).stderr).toContain("the repository is now olga/barn");
    expect((await push(key.name, "olga/barn")).exitCode).toBe(0);
    expect((await by("olga", "DELETE", `/repos/olga/barn/keys/${key.id}`)).status).toBe(204);
    expect((await client.ssh(key.name, ["-T", "git@127.0.0.1"])).exitCode).toBe(255);
    const last = await addKey(false, "/repos/olga/barn");
    expect((await by("olga", "DELETE", "/repos/olga/barn")).status).toBe(204);
    expect((await client.ssh(last.name, ["-T", "git@127.0.0.1"])).exitCode).toBe(255);
    const mine = { title: "free again", key: last.line };
    expect((await by("olga", "POST", "/user/keys", mine)).status).toBe(201);
  });

  test("a protected branch takes pushes of deploy keys only where its rule lists them", async () => {
    const key = await addKey(false);
    const rule = (fields: object) => by("olga", "PATCH", `${hut}/branch_protections/main`, fields);
    const body = { rule_name: "main", enable_push: false };
    expect((await by("olga", "POST", `${hut}/branch_protections`, body)).status).toBe(201);
    const refused = async () => (await push(key.name, "olga/hut")).exitCode !== 0;
    expect(await refused()).toBe(true);
    expect((await push(key.name, "olga/hut", "HEAD:refs/heads/free")).exitCode).toBe(0);
    await rule({ enable_push: true });
    expect(await refused()).toBe(false);
    // The owner, for whom the key acts, is on the list: the key is not.
    await rule({ enable_push_whitelist: true, push_whitelist_usernames: ["olga"] });
    expect(await refused()).toBe(true);
    await rule({ push_whitelist_deploy_keys: true });
    expect(await refused()).toBe(false);
    const force = () => push(key.name, "olga/hut", "HEAD~2:main", "--force");
    expect((await force()).exitCode).not.toBe(0);
    await rule({ enable_force_push: true, enable_force_push_allowlist: true });
    expect((await force()).exitCode).not.toBe(0);
    await rule({ force_push_allowlist_deploy_keys: true });
    expect((await force()).exitCode).toBe(0);
    expect((await push(key.name, "olga/hut", ":main")).exitCode).not.toBe(0);
  });
});
