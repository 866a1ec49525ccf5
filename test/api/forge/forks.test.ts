import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newRepository } = people;

const fork = (user: string, path: string, body: object = {}) =>
  by(user, "POST", `/repos/${path}/forks`, body);
const urlOf = (user: string, path: string) =>
  `${daemon.url.replace("//", `//${user}:${people.tokenOf(user)}@`)}/${path}.git`;
/** A repository with a commit, a branch and a tag, as `owner/name`. */
async function newSource(owner: string, fields: object = {}): Promise<string> {
  const path = `${owner}/${await newRepository(owner, { auto_init: true, ...fields })}`;
  await by(owner, "POST", `/repos/${path}/branches`, { new_branch_name: "next" });
  await by(owner, "POST", `/repos/${path}/tags`, { tag_name: "v1", message: "first" });
  return path;
}
const listRefs = async (user: string, path: string) =>
  (await git.run("ls-remote", urlOf(user, path))).output;
const view = async (user: string, path: string) => (await by(user, "GET", `/repos/${path}`)).json;

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off" },
  });
  git = await createGitClient();
  receiver = await startReceiver((_request, response) => response.writeHead(200).end("thanks"));
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

describe("a fork", () => {
  test("a fork has branches, tags, description and default branch of its parent, and nothing else of it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira, { description: "Plans" });
    await by(mira, "POST", `/repos/${path}/issues`, { title: "An issue" });
    await by(mira, "POST", `/repos/${path}/branch_protections`, { rule_name: "main" });
    const made = await fork(nora, path);
    expect(made.status, made.text).toBe(202);
    const name = path.slice(mira.length + 1);
    expect(made.json).toMatchObject({
      full_name: `${nora}/${name}`,
      fork: true,
      parent: { full_name: path, fork: false, forks_count: 1, owner: { login: mira } },
      forks_count: 0,
      description: "Plans",
      default_branch: "main",
      private: false,
      empty: false,
      branch_count: 2,
      open_issues_count: 0,
      stars_count: 0,
      has_issues: false,
      has_actions: false,
      permissions: { admin: true, push: true, pull: true },
    });
    const omitted = omittedOfRepository.filter((member) => member !== "parent");
    expectWireShape("Repository", made.json, [...omitted, "repo_transfer", "internal_tracker"]);
    expect(await listRefs(nora, `${nora}/${name}`)).toBe(await listRefs(mira, path));
    expect((await by(nora, "GET", `/repos/${nora}/${name}/branch_protections`)).json).toEqual([]);
    expect(await view(mira, path)).toMatchObject({ fork: false, forks_count: 1 });
    // It takes pushes at once, of which the parent has nothing.
    await git.run("clone", "-q", urlOf(nora, `${nora}/${name}`), name);
    await git.in(name, "commit", "-q", "--allow-empty", "-m", "Mine");
    expect((await git.in(name, "push", "-q")).exitCode).toBe(0);
    expect(await listRefs(nora, `${nora}/${name}`)).not.toBe(await listRefs(mira, path));
    const found = await by(mira, "GET", `/repos/search?mode=fork&q=${name}`);
    expect(found.json.data).toMatchObject([{ full_name: `${nora}/${name}` }]);
    const sources = await by(mira, "GET", `/repos/search?mode=source&q=${name}`);
    expect(sources.json.data).toMatchObject([{ full_name: path }]);
  });

  test("a fork shares its objects on disk, and keeps them when the parent is deleted", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    const made = (await fork(nora, path)).json.full_name;
    const folder = join(daemon.home, "repositories", `${made}.git`);
    const files = (await readdir(join(folder, "objects"), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      // Each repository searches its own history, in its own time.
      .filter((path) => !path.includes("commit-graph"));
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) expect((await stat(file)).nlink, file).toBe(2);
    const before = await listRefs(nora, made);
    expect((await by(mira, "DELETE", `/repos/${path}`)).status).toBe(204);
    const left = await view(nora, made);
    expect(left).toMatchObject({ fork: false });
    expect(left).not.toHaveProperty("parent");
    expect(await listRefs(nora, made)).toBe(before);
    expect((await git.run("clone", "-q", "--mirror", urlOf(nora, made), "left")).exitCode).toBe(0);
    expect((await git.in("left", "fsck", "--full", "--strict")).exitCode).toBe(0);
  });

  test("an empty and an archived repository can be forked, a fork too, and the fork of an archived one is not archived", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const empty = `${mira}/${await newRepository(mira)}`;
    expect((await fork(nora, empty)).json).toMatchObject({ empty: true, branch_count: 0 });
    const old = await newSource(mira);
    await by(mira, "PATCH", `/repos/${old}`, { archived: true });
    const first = await fork(nora, old);
    expect(first.json).toMatchObject({ archived: false, parent: { full_name: old } });
    const second = await fork(olga, first.json.full_name);
    expect(second.json.parent.full_name).toBe(first.json.full_name);
    expect(second.json.parent).not.toHaveProperty("parent");
    expect((await view(mira, old)).forks_count).toBe(1);
  });

  test("an owner has one fork of a repository, and a name once", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    const name = path.slice(mira.length + 1);
    const own = await fork(mira, path);
    expect([own.status, own.json.message]).toEqual([
      409,
      `repository already exists [uname: ${mira}, name: ${name}]`,
    ]);
    expect((await fork(mira, path, { name: "mine" })).status).toBe(202);
    const [one, other] = await Promise.all([fork(nora, path), fork(nora, path, { name: "b" })]);
    expect([one.status, other.status].toSorted()).toEqual([202, 409]);
    const [made, refused] = one.status === 202 ? [one, other] : [other, one];
    expect(refused.json.message).toBe(
      `repository is already forked by user [uname: ${nora}, repo path: ${path}, fork path: ${made.json.full_name}]`,
    );
    expect((await view(mira, path)).forks_count).toBe(2);
    // A deleted fork leaves room for another one.
    await by(nora, "DELETE", `/repos/${made.json.full_name}`);
    expect((await view(mira, path)).forks_count).toBe(1);
    expect((await fork(nora, path)).status).toBe(202);
  });

  test("a fork is refused without the right to read the parent, or to create it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    const hidden = await newSource(mira, { private: true });
    expect((await api("POST", `/repos/${path}/forks`, {}, "")).status).toBe(401);
    expect((await fork(nora, hidden)).status).toBe(404);
    for (const name of ["a b", "..", "x".repeat(101)])
      expect((await fork(nora, path, { name })).status, name).toBe(422);
    expect((await fork(nora, path, { organization: "nowhere" })).status).toBe(404);
    expect((await fork(nora, path, { organization: mira })).status).toBe(404);
    await by(mira, "POST", "/orgs", { username: `${mira}-open` });
    await by(mira, "POST", "/orgs", { username: `${mira}-shut`, visibility: "private" });
    expect((await fork(nora, path, { organization: `${mira}-open` })).status).toBe(403);
    expect((await fork(nora, path, { organization: `${mira}-shut` })).status).toBe(404);
    const ofOrganization = await fork(mira, path, { organization: `${mira}-open`, name: "copy" });
    expect(ofOrganization.json).toMatchObject({ full_name: `${mira}-open/copy`, fork: true });
    const readOnly = await people.newToken(nora, ["read:repository"]);
    expect((await api("POST", `/repos/${path}/forks`, {}, readOnly)).status).toBe(403);
    const limited = await newUser();
    await api("PATCH", `/admin/users/${limited}`, {
      login_name: limited,
      source_id: 0,
      max_repo_creation: 0,
    });
    expect((await fork(limited, path)).status).toBe(403);
    const codeOff = await newSource(mira);
    await by(mira, "PATCH", `/repos/${codeOff}`, { has_code: false });
    expect((await fork(nora, codeOff)).status).toBe(404);
  });

  test("a fork of a private repository is private, and is listed to its readers only", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const path = await newSource(mira, { private: true });
    for (const reader of [nora, olga])
      await by(mira, "PUT", `/repos/${path}/collaborators/${reader}`, { permission: "read" });
    const made = await fork(nora, path);
    expect(made.json).toMatchObject({ private: true, parent: { full_name: path } });
    const { full_name: name } = made.json;
    expect((await by(mira, "GET", `/repos/${name}`)).status).toBe(404);
    const publicOnly = await people.newToken(olga, ["public-only", "all"]);
    expect((await api("POST", `/repos/${path}/forks`, {}, publicOnly)).status).toBe(404);
    const opened = await by(nora, "PATCH", `/repos/${name}`, { private: false });
    expect([opened.status, opened.json.message]).toEqual([
      422,
      "the fork of a private repository stays private",
    ]);
    for (const [user, names] of [
      [nora, [name]],
      [olga, []],
    ] as const) {
      const list = await by(user, "GET", `/repos/${path}/forks?limit=1`);
      expect(list.json.map((each: { full_name: string }) => each.full_name)).toEqual(names);
      expect(list.headers.get("x-total-count")).toBe(String(names.length));
    }
    // Without the right to read the parent, its fork does not show it.
    await by(mira, "DELETE", `/repos/${path}/collaborators/${nora}`);
    const left = await view(nora, name);
    expect(left).toMatchObject({ fork: true });
    expect(left).not.toHaveProperty("parent");
    const listed = await by(nora, "GET", "/user/repos");
    expect(JSON.stringify(listed.json)).not.toContain(path);
  });

  test("the forks of a repository that becomes private become private, and theirs", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const path = await newSource(mira);
    const first = (await fork(nora, path)).json.full_name;
    const second = (await fork(olga, first)).json.full_name;
    await by(mira, "PATCH", `/repos/${path}`, { private: true });
    for (const name of [first, second])
      expect((await api("GET", `/repos/${name}`, undefined, "")).status, name).toBe(404);
    expect((await view(nora, first)).private).toBe(true);
  });

  test("a renamed or transferred parent stays the parent of its forks", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const path = await newSource(mira);
    const made = (await fork(nora, path)).json.full_name;
    await by(mira, "PATCH", `/repos/${path}`, { name: "renamed" });
    expect((await view(nora, made)).parent.full_name).toBe(`${mira}/renamed`);
    await api("POST", `/repos/${mira}/renamed/transfer`, { new_owner: olga });
    expect((await view(nora, made)).parent.full_name).toBe(`${olga}/renamed`);
    await api("POST", `/repos/${made}/transfer`, { new_owner: olga });
    const name = made.slice(nora.length + 1);
    expect((await view(nora, `${olga}/${name}`)).parent.full_name).toBe(`${olga}/renamed`);
    expect((await fork(olga, `${olga}/renamed`, { name: "third" })).status).toBe(409);
  });

  test("a fork is published to the hooks and workflows of the parent", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    const workflow =
      "on: [push, fork]\njobs:\n  one:\n    runs-on: x\n    steps:\n      - run: echo\n";
    await by(mira, "POST", `/repos/${path}/contents/.gitea/workflows/w.yml`, {
      content: Buffer.from(workflow).toString("base64"),
    });
    const waitForRuns = (expected: readonly object[]) =>
      vi.waitFor(
        async () => {
          const { json } = await by(mira, "GET", `/repos/${path}/actions/runs`);
          expect(json.workflow_runs).toMatchObject(expected);
        },
        { timeout: 60_000 },
      );
    // A job reads the workflows after the push.
    await waitForRuns([{ event: "push" }]);
    await by(mira, "POST", `/repos/${path}/hooks`, {
      type: "gitea",
      config: { url: `${receiver.url}/fork`, content_type: "json" },
      events: ["fork"],
      active: true,
    });
    const made = (await fork(nora, path)).json.full_name;
    const [request] = await receiver.waitFor(1, (each) => each.path === "/fork");
    expect(request?.headers["x-gitea-event"]).toBe("fork");
    const payload = JSON.parse(request?.body ?? "");
    expect(payload).toMatchObject({
      forkee: { full_name: path, forks_count: 1 },
      repository: { full_name: made, fork: true, parent: { full_name: path } },
      sender: { login: nora },
    });
    expect(payload).not.toHaveProperty("action");
    await waitForRuns([{ event: "fork", actor: { login: nora } }, { event: "push" }]);
    const feed = await by(nora, "GET", `/users/${nora}/activities/feeds`);
    expect(feed.json).toMatchObject([{ op_type: "create_repo", repo: { full_name: made } }]);
  });

  test("a fork of a hidden account is published to nobody at the public parent", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const hidden = await newUser("hidden", { visibility: "private" });
    const path = await newSource(mira);
    const hook = await by(mira, "POST", `/repos/${path}/hooks`, {
      type: "gitea",
      config: { url: `${receiver.url}/hidden`, content_type: "json" },
      events: ["fork"],
      active: true,
    });
    expect((await fork(hidden, path)).status).toBe(202);
    expect((await fork(nora, path)).status).toBe(202);
    const deliveries = `/repos/${path}/hooks/${hook.json.id}/deliveries`;
    const [delivery, ...others] = (await by(mira, "GET", deliveries)).json;
    expect(others).toEqual([]);
    const { json } = await by(mira, "GET", `${deliveries}/${delivery.id}`);
    expect(JSON.parse(json.request.body).sender.login).toBe(nora);
  });

  test("the page of forks lists them and makes one", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    const send = (method: string, at: string, cookie: string, fields?: Record<string, string>) =>
      fetch(daemon.url + at, {
        method,
        redirect: "manual",
        headers: { Accept: "text/html", Origin: daemon.url, Cookie: cookie },
        ...(fields === undefined ? {} : { body: new URLSearchParams(fields) }),
      });
    const signedIn = await send("POST", "/user/login", "", {
      user_name: nora,
      password: "user-password",
    });
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";", 1).join();
    const page = await (await send("GET", `/${path}/forks`, cookie)).text();
    const form = { form_token: /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? "" };
    const fields = { ...form, name: "copy", organization: "" };
    const made = await send("POST", `/${path}/forks`, cookie, fields);
    expect([made.status, made.headers.get("location")]).toEqual([303, `/${nora}/copy`]);
    expect(await (await send("GET", `/${nora}/copy`, cookie)).text()).toContain("forked from");
    expect(await (await send("GET", `/${path}/forks`, "")).text()).toContain(`${nora}/copy`);
    const again = await send("POST", `/${path}/forks`, cookie, { ...fields, name: "other" });
    expect(again.status).toBe(422);
    expect(await again.text()).toContain("repository is already forked by user");
  });
});

describe("an update of a fork", () => {
  const sync = (user: string, path: string, body: object = { branch: "main" }) =>
    by(user, "POST", `/repos/${path}/merge-upstream`, body);
  const write = async (user: string, path: string, file: string, content: string) => {
    const at = `/repos/${path}/contents/${file}`;
    const present = await by(user, "GET", at);
    const sha = present.status === 200 ? { sha: present.json.sha } : {};
    const body = { ...sha, content: Buffer.from(content).toString("base64"), message: file };
    const made = await by(user, present.status === 200 ? "PUT" : "POST", at, body);
    return made.json.commit.sha as string;
  };
  const headOf = async (user: string, path: string, branch = "main") =>
    (await by(user, "GET", `/repos/${path}/branches/${branch}`)).json.commit.id;
  async function newFork() {
    const [mira, nora] = [await newUser(), await newUser()];
    const path = await newSource(mira);
    return { mira, nora, path, made: (await fork(nora, path)).json.full_name as string };
  }

  test("a branch of a fork moves forward or is merged, and says how", async () => {
    const { mira, nora, path, made } = await newFork();
    expect((await sync(nora, made)).json).toEqual({ merge_type: "up-to-date" });
    const first = await write(mira, path, "a.txt", "a");
    const moved = await sync(nora, made, {});
    expect([moved.status, moved.json]).toEqual([200, { merge_type: "fast-forward" }]);
    expect(await headOf(nora, made)).toBe(first);
    const own = await write(nora, made, "own.txt", "own");
    expect((await sync(nora, made)).json).toEqual({ merge_type: "up-to-date" });
    const second = await write(mira, path, "b.txt", "b");
    expect((await sync(nora, made, { branch: "main", ff_only: true })).status).toBe(400);
    expect(await headOf(nora, made)).toBe(own);
    expect((await sync(nora, made)).json).toEqual({ merge_type: "merge" });
    const merged = await by(nora, "GET", `/repos/${made}/git/commits/main`);
    expect(merged.json).toMatchObject({
      author: { login: nora },
      parents: [{ sha: own }, { sha: second }],
      commit: { message: `Merge branch 'main' of ${path} into main\n` },
    });
    for (const [file, content] of Object.entries({ "a.txt": "a", "b.txt": "b", "own.txt": "own" }))
      expect((await by(nora, "GET", `/repos/${made}/raw/${file}`)).text).toBe(content);
    const clone = `sync-${nora}`;
    expect((await git.run("clone", "-q", "--mirror", urlOf(nora, made), clone)).exitCode).toBe(0);
    expect((await git.in(clone, "fsck", "--full", "--strict")).exitCode).toBe(0);
    // As every push, it has an activity.
    const feed = await by(nora, "GET", `/repos/${made}/activities/feeds`);
    expect(feed.json[0]).toMatchObject({ op_type: "commit_repo", ref_name: "refs/heads/main" });
  });

  test("an update is refused in words, and then changes nothing", async () => {
    const { mira, nora, path, made } = await newFork();
    await write(mira, path, "same.txt", "theirs");
    const own = await write(nora, made, "same.txt", "ours");
    const conflict = await sync(nora, made);
    expect([conflict.status, conflict.json.message]).toEqual([
      409,
      "merge failed because of conflict: same.txt",
    ]);
    for (const branch of ["none", "next^", "../main", "main:README.md"])
      expect((await sync(nora, made, { branch })).status, branch).toBe(404);
    expect((await sync(mira, made)).status).toBe(403);
    expect((await api("POST", `/repos/${made}/merge-upstream`, {}, "")).status).toBe(401);
    const plain = await sync(mira, path);
    expect([plain.status, plain.json.message]).toEqual([422, "the repository is not a fork"]);
    await write(mira, path, "next.txt", "next");
    await by(nora, "DELETE", `/repos/${made}/contents/same.txt`, {
      sha: (await by(nora, "GET", `/repos/${made}/contents/same.txt`)).json.sha,
    });
    await by(nora, "POST", `/repos/${made}/branch_protections`, { rule_name: "next" });
    await by(mira, "DELETE", `/repos/${path}/branches/next`);
    await by(mira, "POST", `/repos/${path}/branches`, { new_branch_name: "next" });
    const next = await headOf(nora, made, "next");
    expect((await sync(nora, made, { branch: "next" })).status).toBe(403);
    expect(await headOf(nora, made, "next")).toBe(next);
    await by(nora, "PATCH", `/repos/${made}`, { archived: true });
    expect((await sync(nora, made)).status).toBe(423);
    await by(nora, "PATCH", `/repos/${made}`, { archived: false });
    await by(mira, "PATCH", `/repos/${path}`, { private: true });
    expect((await sync(nora, made)).status).toBe(404);
    expect(own).not.toBe(next);
  });
});
