import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto", "rosa"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A repository of mira's that otto and rosa may write to. */
async function newRepository(): Promise<string> {
  const path = `/repos/mira/${await people.newRepository("mira", { auto_init: true })}`;
  for (const name of ["otto", "rosa"])
    await by("mira", "PUT", `${path}/collaborators/${name}`, { permission: "write" });
  return path;
}
const protect = (path: string, pattern: string, usernames: readonly string[] = ["rosa"]) =>
  by("mira", "POST", `${path}/tag_protections`, {
    name_pattern: pattern,
    whitelist_usernames: usernames,
  });
const tag = (user: string, path: string, name: string) =>
  by(user, "POST", `${path}/tags`, { tag_name: name });

test("a rule of tags is created, shown, changed and removed", async () => {
  const path = await newRepository();
  const made = await protect(path, "v*", ["rosa", "otto"]);
  expect(made.status).toBe(201);
  expect(made.json).toEqual({
    id: expect.any(Number),
    name_pattern: "v*",
    whitelist_usernames: ["rosa", "otto"],
    whitelist_teams: [],
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const at = `${path}/tag_protections/${made.json.id}`;
  expect((await by("mira", "GET", at)).json).toEqual(made.json);
  const edited = await by("mira", "PATCH", at, { whitelist_usernames: ["otto"] });
  expect([edited.status, edited.json]).toMatchObject([
    200,
    { name_pattern: "v*", whitelist_usernames: ["otto"] },
  ]);
  const renamed = await by("mira", "PATCH", at, { name_pattern: "/^v\\d+$/" });
  expect(renamed.json).toMatchObject({ name_pattern: "/^v\\d+$/", whitelist_usernames: ["otto"] });
  expect((await by("mira", "GET", `${path}/tag_protections`)).json).toEqual([renamed.json]);
  expect((await by("mira", "DELETE", at)).status).toBe(204);
  expect((await by("mira", "GET", at)).status).toBe(404);
  expect((await by("mira", "DELETE", at)).status).toBe(404);
});

test("a rule of tags is refused in the words of the reference", async () => {
  const path = await newRepository();
  const at = `${path}/tag_protections`;
  const statusOf = async (body: object, method = "POST", where = at) => {
    const answer = await by("mira", method, where, body);
    return [answer.status, answer.json.message];
  };
  expect(await statusOf({ whitelist_usernames: ["rosa"] })).toEqual([
    400,
    "name_pattern are empty",
  ]);
  const empty = [400, "both whitelist_usernames and whitelist_teams are empty"];
  expect(await statusOf({ name_pattern: "v*" })).toEqual(empty);
  expect(await statusOf({ name_pattern: "v*", whitelist_usernames: ["nobody"] })).toEqual([
    422,
    "user does not exist [uid: 0, name: nobody]",
  ]);
  for (const pattern of ["/(/", "["])
    expect((await protect(path, pattern)).status, pattern).toBe(422);
  const { id } = (await protect(path, "v*")).json;
  const taken = [403, "Tag protection already exist"];
  expect(await statusOf({ name_pattern: "v*", whitelist_usernames: ["otto"] })).toEqual(taken);
  const other = (await protect(path, "w*")).json.id;
  expect(await statusOf({ name_pattern: "v*" }, "PATCH", `${at}/${other}`)).toEqual(taken);
  expect(await statusOf({ whitelist_usernames: [] }, "PATCH", `${at}/${id}`)).toEqual(empty);
  expect((await by("otto", "GET", at)).status).toBe(403);
});

test("a protected tag is created and deleted by listed users only, by the API and by git", async () => {
  const path = await newRepository();
  await protect(path, "v*");
  await protect(path, "/^release-\\d+$/");
  for (const name of ["v1", "v/deep", "release-1"])
    expect([name, await tag("mira", path, name)]).toMatchObject([
      name,
      { status: 422, json: { message: "user not allowed to create protected tag" } },
    ]);
  for (const name of ["other", "release-x"])
    expect((await tag("otto", path, name)).status).toBe(201);
  expect((await tag("rosa", path, "v1")).status).toBe(201);
  const removed = await by("otto", "DELETE", `${path}/tags/v1`);
  expect([removed.status, removed.json.message]).toEqual([
    422,
    "user not allowed to delete protected tag",
  ]);
  const name = path.split("/").at(-1) ?? "";
  const addressOf = (user: string) =>
    `${daemon.url.replace("://", `://${user}:${people.tokenOf(user)}@`)}/mira/${name}.git`;
  await git.run("clone", "-q", addressOf("otto"), name);
  await git.in(name, "commit", "-q", "--allow-empty", "-m", "Next");
  for (const [spec, isForced] of [
    ["HEAD:refs/tags/v2", false],
    ["HEAD:refs/tags/v1", true],
    [":refs/tags/v1", false],
  ] as const) {
    const force = isForced ? ["--force"] : [];
    const pushed = await git.in(name, "push", ...force, addressOf("otto"), spec);
    expect([spec, pushed.exitCode, pushed.errors]).toEqual([
      spec,
      1,
      expect.stringMatching(/Tag v[12] is protected/),
    ]);
  }
  const both = await git.in(name, "push", addressOf("otto"), "HEAD:main", "HEAD:refs/tags/v3");
  expect(both.exitCode).toBe(1);
  const allowed = await git.in(name, "push", "--force", addressOf("rosa"), "HEAD:refs/tags/v1");
  expect(allowed.exitCode, allowed.errors).toBe(0);
  expect((await by("rosa", "DELETE", `${path}/tags/v1`)).status).toBe(204);
});

test("of several rules that match a tag one that lists the user is enough, and a deploy key is on no list", async () => {
  const path = await newRepository();
  await protect(path, "*", ["mira"]);
  await protect(path, "v*", ["otto"]);
  expect((await tag("otto", path, "v1")).status).toBe(201);
  expect((await tag("otto", path, "w1")).status).toBe(422);
  expect((await tag("mira", path, "v2")).status).toBe(201);
});

test("a hostile regular expression ends the push in words and not the daemon", async () => {
  const path = await newRepository();
  await protect(path, "/^(a+)+$/");
  const answer = await tag("rosa", path, `${"a".repeat(60)}b`);
  expect([answer.status, answer.json.message]).toEqual([
    503,
    "matching the patterns of the rules takes too much time",
  ]);
});
