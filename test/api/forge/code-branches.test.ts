import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by, api } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await people.newUser("otto");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A repository of mira's with one commit; returns its path in the API. */
async function newRepository(fields: object = {}): Promise<{ path: string; name: string }> {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  return { path: `/repos/mira/${name}`, name };
}

async function headOf(path: string, branch = "main"): Promise<string> {
  return (await by("mira", "GET", `${path}/branches/${branch}`)).json.commit.id;
}

/** The names of the files below `objects` of a repository of mira's. */
function listObjects(name: string): string[] {
  const folder = join(daemon.home, "repositories", "mira", `${name}.git`, "objects");
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
}

test("a commit, a branch or a tag that is refused leaves no object in the repository", async () => {
  const { path, name } = await newRepository();
  const content = Buffer.from("one").toString("base64");
  const submodule = Buffer.from('[submodule "x"]\n\tpath = x\n\turl = -u./x\n').toString("base64");
  await by("mira", "POST", `${path}/branches`, { new_branch_name: "held" });
  await by("mira", "POST", `${path}/branch_protections`, { rule_name: "held", enable_push: false });
  await by("mira", "POST", `${path}/tags`, { tag_name: "v1", message: "first" });
  const before = listObjects(name);
  const write = (file: string, body: object) =>
    by("mira", "POST", `${path}/contents/${file}`, { content, ...body });
  const refused = [
    await write(".gitmodules", { content: submodule }),
    await write("a", { branch: "held" }),
    await write("b", { new_branch: "main/below" }),
    await write("c", { new_branch: "x".repeat(255) }),
    await by("mira", "POST", `${path}/tags`, { tag_name: "v1/below", message: "second" }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([422, 403, 409, 422, 409]);
  expect(listObjects(name)).toEqual(before);
  const accepted = [
    await write("d", {}),
    await write("e", { new_branch: "other" }),
    await by("mira", "POST", `${path}/tags`, { tag_name: "v2", message: "third" }),
  ];
  expect(accepted.map(({ status }) => status)).toEqual([201, 201, 201]);
  const after = listObjects(name);
  expect(after.filter((file) => file.startsWith("tmp_"))).toEqual([]);
  expect(after.length).toBeGreaterThan(before.length);
});

describe("branches", () => {
  test("a branch is created from the default branch, from a named branch and from a commit", async () => {
    const { path } = await newRepository();
    const made = await by("mira", "POST", `${path}/branches`, { new_branch_name: "feature/one" });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: "feature/one",
      protected: false,
      user_can_push: true,
      user_can_merge: true,
      status_check_contexts: [],
      commit: { added: null, verification: { verified: false } },
    });
    const head = await headOf(path);
    expect(made.json.commit.id).toBe(head);
    for (const body of [
      { new_branch_name: "two", old_branch_name: "feature/one" },
      { new_branch_name: "three", old_ref_name: head },
    ])
      expect((await by("mira", "POST", `${path}/branches`, body)).json.commit.id).toBe(head);
    const listed = await by("otto", "GET", `${path}/branches?q=t&limit=1`);
    expect(listed.headers.get("x-total-count")).toBe("3");
    expect(listed.headers.get("link")).toContain('rel="next"');
    expect(listed.json).toHaveLength(1);
    expect(listed.json[0].user_can_push).toBe(false);
  });

  test("a taken or conflicting name is refused with 409, an unknown start with 404", async () => {
    const { path } = await newRepository();
    const create = (body: object) => by("mira", "POST", `${path}/branches`, body);
    expect((await create({ new_branch_name: "main" })).status).toBe(409);
    expect((await create({ new_branch_name: "main/below" })).status).toBe(409);
    expect((await create({ new_branch_name: "x", old_ref_name: "nothing" })).status).toBe(404);
    expect(await create({})).toMatchObject({
      status: 422,
      json: { message: "[BranchName]: Required" },
    });
    await by("mira", "POST", `${path}/tags`, { tag_name: "v1" });
    expect((await create({ new_branch_name: "v1" })).json.message).toBe(
      "The branch with the same tag already exists.",
    );
  });

  test.each([
    "a..b",
    "a@{1}",
    "a b",
    "-d",
    "a.lock",
    "a\u0007",
    "@",
    "a~1",
    "a^",
    "a:b",
    "/a",
    "a/",
    "a\\b",
    "x".repeat(101),
  ])("the branch name %j is refused with 422 and changes nothing", async (name) => {
    const { path } = await newRepository();
    const made = await by("mira", "POST", `${path}/branches`, { new_branch_name: name });
    expect(made.status).toBe(422);
    expect((await by("mira", "GET", `${path}/branches`)).json).toHaveLength(1);
  });

  test("a branch name that is too long for the file system is refused", async () => {
    const { path } = await newRepository();
    const name = "ä".repeat(100);
    const long = await by("mira", "POST", `${path}/branches`, { new_branch_name: name });
    expect(long.status).toBe(201);
    const longer = await by("mira", "POST", `${path}/branches`, {
      new_branch_name: "漢".repeat(100),
    });
    expect(longer.status).toBe(422);
  });

  test("a branch is renamed, and the default branch stays the default under its new name", async () => {
    const { path } = await newRepository();
    await by("mira", "POST", `${path}/branches`, { new_branch_name: "old" });
    expect((await by("mira", "PATCH", `${path}/branches/old`, { name: "new" })).status).toBe(204);
    expect((await by("mira", "GET", `${path}/branches/old`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/branches/new`)).status).toBe(200);
    expect((await by("mira", "PATCH", `${path}/branches/new`, { name: "main" })).status).toBe(422);
    expect((await by("mira", "PATCH", `${path}/branches/none`, { name: "x" })).status).toBe(404);
    expect((await by("mira", "PATCH", `${path}/branches/main`, { name: "trunk" })).status).toBe(
      204,
    );
    expect((await by("mira", "GET", path)).json.default_branch).toBe("trunk");
    expect((await by("mira", "GET", `${path}/branches/main`)).status).toBe(404);
  });

  test("a branch is deleted, but never the default one", async () => {
    const { path } = await newRepository();
    await by("mira", "POST", `${path}/branches`, { new_branch_name: "gone" });
    const unseen = await daemon.request(`/api/v1${path}/branches/gone`, {
      method: "DELETE",
      token: people.tokenOf("mira"),
      headers: { "If-Match": `"${"0".repeat(40)}"` },
    });
    expect([unseen.status, unseen.json.message]).toEqual([
      412,
      "the branch gone has new commits: look at them before you delete it",
    ]);
    expect((await by("mira", "DELETE", `${path}/branches/gone`)).status).toBe(204);
    expect((await by("mira", "DELETE", `${path}/branches/gone`)).status).toBe(404);
    expect((await by("mira", "DELETE", `${path}/branches/main`)).status).toBe(403);
  });

  test("a branch is moved forward, back only with force, and only from its expected commit", async () => {
    const { path, name } = await newRepository();
    const first = await headOf(path);
    const second = await push(name, "one more");
    await by("mira", "POST", `${path}/branches`, { new_branch_name: "b", old_ref_name: first });
    const put = (body: object) => by("mira", "PUT", `${path}/branches/b`, body);
    expect((await put({ new_commit_id: second, old_commit_id: second })).status).toBe(422);
    expect((await put({ new_commit_id: second, old_commit_id: first })).status).toBe(204);
    expect((await put({ new_commit_id: first })).status).toBe(422);
    expect((await put({ new_commit_id: first, force: true })).status).toBe(204);
    expect(await headOf(path, "b")).toBe(first);
  });

  test("only one of two creations of a branch at once succeeds", async () => {
    const { path } = await newRepository();
    const body = { new_branch_name: "race" };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => by("mira", "POST", `${path}/branches`, body)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  test("readers cannot write branches, a private repository is hidden, and an archived one is read-only", async () => {
    const { path } = await newRepository();
    const body = { new_branch_name: "x" };
    expect((await by("otto", "POST", `${path}/branches`, body)).status).toBe(403);
    expect((await api("POST", `${path}/branches`, body, "")).status).toBe(401);
    await by("mira", "PATCH", path, { archived: true });
    expect((await by("mira", "POST", `${path}/branches`, body)).status).toBe(423);
    await by("mira", "PATCH", path, { archived: false, private: true });
    for (const rest of ["/branches", "/branches/main", "/tags", "/commits", "/git/refs"])
      expect((await by("otto", "GET", path + rest)).status).toBe(404);
  });

  test("creating and deleting a branch publish the hook events of a push", async () => {
    const { path, name } = await newRepository();
    const hook = await by("mira", "POST", `${path}/hooks`, {
      type: "gitea",
      active: true,
      events: ["create", "delete", "push"],
      config: { url: "http://127.0.0.1:9/", content_type: "json" },
    });
    await by("mira", "POST", `${path}/branches`, { new_branch_name: "told" });
    await by("mira", "DELETE", `${path}/branches/told`);
    const deliveries = async () =>
      (await by("mira", "GET", `${path}/hooks/${hook.json.id}/deliveries`)).json as {
        event: string;
      }[];
    await expect
      .poll(async () => new Set((await deliveries()).map(({ event }) => event)))
      .toEqual(new Set(["create", "delete", "push"]));
    expect((await by("mira", "GET", `/repos/mira/${name}`)).json.branch_count).toBe(1);
  });
});

describe("tags", () => {
  test("a tag with a message is annotated, and shows its commit", async () => {
    const { path } = await newRepository();
    const head = await headOf(path);
    const light = await by("mira", "POST", `${path}/tags`, { tag_name: "v1" });
    expect(light.status).toBe(201);
    expect(light.json).toMatchObject({ name: "v1", id: head, commit: { sha: head } });
    const heavy = await by("mira", "POST", `${path}/tags`, {
      tag_name: "v2",
      message: "The second",
      target: "main",
    });
    expect(heavy.json).toMatchObject({
      name: "v2",
      message: "The second",
      commit: { sha: head },
    });
    expect(heavy.json.id).not.toBe(head);
    const object = await by("mira", "GET", `${path}/git/tags/${heavy.json.id}`);
    expect(object.json).toMatchObject({
      tag: "v2",
      message: "The second\n",
      tagger: { name: "mira" },
      object: { type: "commit", sha: head },
    });
    const listed = await by("mira", "GET", `${path}/tags`);
    expect(listed.json.map((tag: { name: string }) => tag.name).toSorted()).toEqual(["v1", "v2"]);
    expect(listed.headers.get("x-total-count")).toBe("2");
    expect((await by("mira", "GET", `${path}/tags/v2`)).json.zipball_url).toContain(
      "/archive/v2.zip",
    );
    expect((await by("mira", "GET", `${path}/git/tags/${head}`)).status).toBe(404);
  });

  test("a tag with a taken name is 409, with an invalid one 422, with an unknown target 404", async () => {
    const { path } = await newRepository();
    await by("mira", "POST", `${path}/tags`, { tag_name: "v1" });
    expect((await by("mira", "POST", `${path}/tags`, { tag_name: "v1" })).status).toBe(409);
    expect((await by("mira", "POST", `${path}/tags`, { tag_name: "v 1" })).status).toBe(422);
    const unknown = { tag_name: "v3", target: "none" };
    expect((await by("mira", "POST", `${path}/tags`, unknown)).status).toBe(404);
    expect((await by("mira", "DELETE", `${path}/tags/v1`)).status).toBe(204);
    expect((await by("mira", "DELETE", `${path}/tags/v1`)).status).toBe(404);
    expect((await by("mira", "GET", `${path}/tags/v1`)).status).toBe(404);
  });
});

/** Pushes a commit to the default branch of mira's repository and returns its id. */
async function push(name: string, text: string): Promise<string> {
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/${name}.git`;
  await git.run("clone", "-q", address, name);
  await git.in(name, "commit", "-q", "--allow-empty", "-m", text);
  await git.in(name, "push", "-q");
  return (await git.in(name, "rev-parse", "HEAD")).output.trim();
}
