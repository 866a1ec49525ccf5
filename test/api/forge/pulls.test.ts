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
  for (const name of ["mira", "otto", "zoe"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Creates a repository with branches that add a file of their name. */
async function newRepository(branches: readonly string[], fields: object = {}): Promise<string> {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  const path = `/repos/mira/${name}`;
  for (const branch of branches)
    expect(
      await by("mira", "POST", `${path}/contents/${branch}.txt`, {
        content: Buffer.from(`${branch}\n`).toString("base64"),
        message: `Add ${branch}`,
        new_branch: branch,
      }),
    ).toMatchObject({ status: 201 });
  return path;
}

const open = (path: string, head: string, more: object = {}, who = "mira") =>
  by(who, "POST", `${path}/pulls`, { head, base: "main", title: `Merge ${head}`, ...more });

const headOf = async (path: string, branch: string) =>
  (await by("mira", "GET", `${path}/branches/${branch}`)).json.commit.id;

test("a pull request is opened from a branch, is an issue, and is counted apart", async () => {
  const path = await newRepository(["topic"]);
  await by("mira", "POST", `${path}/issues`, { title: "An issue" });
  const label = (await by("mira", "POST", `${path}/labels`, { name: "bug", color: "ff0000" })).json;
  const made = await open(path, "topic", { body: "Text", labels: [label.id], assignee: "otto" });
  expect(made.status).toBe(201);
  const [main, topic] = [await headOf(path, "main"), await headOf(path, "topic")];
  expect(made.json).toMatchObject({
    number: 2,
    title: "Merge topic",
    body: "Text",
    state: "open",
    draft: false,
    merged: false,
    merged_at: null,
    merge_commit_sha: null,
    merged_by: null,
    allow_maintainer_edit: true,
    labels: [{ name: "bug" }],
    assignees: [{ login: "otto" }],
    requested_reviewers: [],
    base: { label: "main", ref: "main", sha: main },
    head: { label: "topic", ref: "topic", sha: topic },
  });
  const home = `${daemon.url}${path.replace("/repos", "")}/pulls/2`;
  expect(made.json).toMatchObject({ url: home, html_url: home, diff_url: `${home}.diff` });
  const shown = await by("otto", "GET", `${path}/issues/2`);
  expect(shown.json).toMatchObject({
    html_url: home,
    pull_request: { merged: false, merged_at: null, draft: false, html_url: home },
  });
  const numbers = async (query: string) =>
    (await by("otto", "GET", `${path}/issues${query}`)).json.map(
      ({ number }: { number: number }) => number,
    );
  expect(await numbers("")).toEqual([2, 1]);
  expect(await numbers("?type=pulls")).toEqual([2]);
  expect(await numbers("?type=issues")).toEqual([1]);
  expect((await by("otto", "GET", "/repos/issues/search?type=pulls")).json).toHaveLength(1);
  expect((await by("otto", "GET", path)).json).toMatchObject({
    open_issues_count: 1,
    open_pr_counter: 1,
    has_pull_requests: true,
    allow_squash_merge: true,
    default_allow_maintainer_edit: true,
  });
  await by("mira", "POST", `${path}/issues/2/comments`, { body: "Hello" });
  const [comment] = (await by("otto", "GET", `${path}/issues/2/comments`)).json;
  expect(comment).toMatchObject({ pull_request_url: home, issue_url: "" });
  await by("mira", "PATCH", `${path}/issues/2`, { state: "closed" });
  expect((await by("otto", "GET", path)).json).toMatchObject({ open_pr_counter: 0 });
  expect((await by("otto", "GET", `${path}/pulls/2`)).json).toMatchObject({
    state: "closed",
    comments: 1,
  });
  expect(await by("otto", "GET", `${path}/pulls/1`)).toMatchObject({ status: 404 });
});

test("git serves the head of a pull request, and refuses pushes to it", async () => {
  const path = await newRepository(["topic"]);
  await open(path, "topic");
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}${path.replace("/repos", "")}.git`;
  const listed = await git.run("ls-remote", address, "refs/pull/*");
  expect(listed.output).toBe(`${await headOf(path, "topic")}\trefs/pull/1/head\n`);
  await git.run("clone", "-q", address, "served");
  const pushed = await git.in("served", "push", "origin", "HEAD:refs/pull/1/head");
  expect(pushed.exitCode).not.toBe(0);
  const elsewhere = await git.in("served", "push", "origin", "HEAD:refs/pull/9/head");
  expect(elsewhere.exitCode).not.toBe(0);
  expect((await git.run("ls-remote", address, "refs/pull/*")).output).toBe(listed.output);
});

test("a pull request is refused in words, in the order of the reference", async () => {
  const path = await newRepository(["topic", "other"]);
  await by("mira", "POST", `${path}/tags`, { tag_name: "v1" });
  const refused = async (head: string, more: object = {}, who = "mira") => {
    const { status, json } = await open(path, head, more, who);
    return [status, json.message];
  };
  expect(await refused("main")).toEqual([
    422,
    "Invalid PullRequest: There are no changes between the head and the base",
  ]);
  expect((await refused("nobody:topic"))[0]).toBe(404);
  expect((await refused("otto:topic"))[0]).toBe(400);
  expect((await refused("mira/nothing:topic"))[0]).toBe(404);
  expect(await refused("absent")).toEqual([404, 'ref "absent" does not exist']);
  expect(await refused("topic", { base: "absent" })).toEqual([404, 'ref "absent" does not exist']);
  expect(await refused("v1")).toEqual([422, "Invalid PullRequest: base and head must be branches"]);
  expect((await refused("topic", { base: undefined }))[0]).toBe(422);
  expect((await refused("topic", {}, "otto"))[0]).toBe(403);
  expect((await refused("topic", { milestone: 99 }))[0]).toBe(404);
  expect((await refused("topic", { assignee: "nobody" }))[0]).toBe(422);
  expect((await open(path, "topic")).status).toBe(201);
  expect(await refused("mira:topic")).toEqual([
    409,
    expect.stringMatching(
      /^pull request already exists for these targets \[id: \d+, .* head_branch: topic, base_branch: main\]$/,
    ),
  ]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  expect((await open(path, "other", { labels: [999] }, "otto")).status).toBe(201);
  const anonymous = await daemon.request(`/api/v1${path}/pulls`, { method: "POST", json: {} });
  expect(anonymous.status).toBe(401);
  await by("mira", "PATCH", path, { archived: true });
  expect((await refused("topic"))[0]).toBe(423);
});

test("pull requests are listed by every filter and in every order", async () => {
  const path = await newRepository(["a", "b", "c", "dev"]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  const label = (await by("mira", "POST", `${path}/labels`, { name: "bug", color: "ff0000" })).json;
  const milestone = (await by("mira", "POST", `${path}/milestones`, { title: "One" })).json;
  await open(path, "a", { labels: [label.id] });
  await open(path, "b", { base: "dev", milestone: milestone.id });
  await open(path, "c", {}, "otto");
  await by("mira", "POST", `${path}/issues/1/comments`, { body: "Hello" });
  await by("mira", "PATCH", `${path}/pulls/2`, { state: "closed" });
  const numbers = async (query: string) => {
    const { status, json } = await by("otto", "GET", `${path}/pulls?${query}`);
    return status === 200 ? json.map(({ number }: { number: number }) => number) : status;
  };
  expect(await numbers("state=all")).toEqual([3, 2, 1]);
  expect(await numbers("state=open")).toEqual([3, 1]);
  expect(await numbers("state=closed")).toEqual([2]);
  expect(await numbers("state=all&sort=oldest")).toEqual([1, 2, 3]);
  expect(await numbers("state=all&sort=mostcomment")).toEqual([1, 3, 2]);
  expect(await numbers("state=all&sort=leastcomment")).toEqual([3, 2, 1]);
  expect(await numbers("state=all&sort=recentclose")).toEqual([2, 3, 1]);
  expect((await numbers("state=all&sort=recentupdate"))[0]).toBe(2);
  expect(await numbers("state=all&sort=unknown")).toEqual([3, 2, 1]);
  expect(await numbers(`state=all&labels=${label.id}`)).toEqual([1]);
  expect(await numbers("state=all&labels=bug")).toBe(422);
  expect(await numbers(`state=all&milestone=${milestone.id}`)).toEqual([2]);
  expect(await numbers("state=all&poster=otto")).toEqual([3]);
  expect(await numbers("state=all&poster=nobody")).toBe(400);
  expect(await numbers("state=all&base_branch=dev")).toEqual([2]);
  expect(await numbers("state=all&limit=1&page=2")).toEqual([2]);
  const found = async (at: string) => (await by("otto", "GET", `${path}/pulls/${at}`)).json.number;
  expect(await found("dev/b")).toBe(2);
  expect(await found("main/mira:a")).toBe(1);
  expect(await found(`main/${path.replace("/repos/", "")}:c`)).toBe(3);
  expect((await by("otto", "GET", `${path}/pulls/main/b`)).status).toBe(404);
  await by("mira", "POST", `${path}/issues/3/pin`);
  expect((await by("otto", "GET", `${path}/pulls/pinned`)).json).toMatchObject([{ number: 3 }]);
  expect((await by("otto", "GET", `${path}/issues/pinned`)).json).toEqual([]);
  const commit = await headOf(path, "main");
  expect((await by("otto", "GET", `${path}/commits/${commit}/pull`)).status).toBe(404);
});

test("an edit changes texts, people and the base, and refuses what the reference refuses", async () => {
  const path = await newRepository(["topic", "dev"]);
  for (const [name, permission] of [
    ["otto", "read"],
    ["zoe", "write"],
  ])
    await by("mira", "PUT", `${path}/collaborators/${name}`, { permission });
  await open(path, "topic", { body: "Text" }, "otto");
  const edit = (who: string, json: object) => by(who, "PATCH", `${path}/pulls/1`, json);
  const label = (await by("mira", "POST", `${path}/labels`, { name: "bug", color: "ff0000" })).json;
  expect(await edit("otto", { title: "WIP: x", labels: [label.id] })).toMatchObject({
    status: 201,
    json: { title: "WIP: x", draft: true, labels: [] },
  });
  expect((await edit("zoe", { title: "", body: "", labels: [label.id] })).json).toMatchObject({
    title: "WIP: x",
    body: "",
    labels: [{ name: "bug" }],
  });
  const due = await edit("zoe", { due_date: "2030-01-02T03:04:05Z" });
  expect(due.json.due_date).toBe("2030-01-02T23:59:59Z");
  expect((await edit("zoe", { unset_due_date: true })).json.due_date).toBeNull();
  await people.newUser("guest");
  expect((await edit("guest", { title: "x" })).status).toBe(403);
  expect((await edit("zoe", { allow_maintainer_edit: false })).json.message).toBe(
    "SetAllowEdits: user not allowed to do this action",
  );
  expect((await edit("otto", { allow_maintainer_edit: false })).json.allow_maintainer_edit).toBe(
    false,
  );
  expect(await edit("zoe", { base: "absent" })).toMatchObject({
    status: 404,
    json: { message: "new base 'absent' not exist" },
  });
  expect((await edit("zoe", { base: "dev" })).json.base.ref).toBe("dev");
  const timeline = (await by("mira", "GET", `${path}/issues/1/timeline`)).json;
  expect(timeline).toContainEqual(
    expect.objectContaining({ type: "change_target_branch", old_ref: "main", new_ref: "dev" }),
  );
  const version = (await by("mira", "GET", `${path}/pulls/1`)).json.content_version;
  const late = await edit("zoe", { body: "New", base: "main", content_version: version + 1 });
  expect(late).toMatchObject({ status: 409, json: { message: "the issue is already changed" } });
  expect((await by("mira", "GET", `${path}/pulls/1`)).json).toMatchObject({
    body: "",
    base: { ref: "dev" },
  });
  expect((await edit("zoe", { state: "merged" })).json.message).toBe("unknown state: merged");
  expect((await edit("zoe", { state: "closed" })).json.state).toBe("closed");
  expect((await edit("zoe", { base: "main" })).status).toBe(422);
  expect((await open(path, "topic", { base: "dev" })).status).toBe(201);
  expect((await edit("zoe", { state: "open" })).status).toBe(409);
});

test("without commits, and where they are turned off, there are no pull requests", async () => {
  const empty = await people.newRepository("mira");
  expect((await by("mira", "GET", `/repos/mira/${empty}/pulls`)).status).toBe(404);
  const path = await newRepository(["topic"]);
  await open(path, "topic");
  const off = await by("mira", "PATCH", path, { has_pull_requests: false });
  expect(off.json).toMatchObject({ has_pull_requests: false, allow_squash_merge: false });
  for (const at of ["pulls", "pulls/1", "issues/1", "issues/1/timeline"])
    expect((await by("mira", "GET", `${path}/${at}`)).status).toBe(404);
  expect((await by("mira", "GET", `${path}/issues`)).json).toEqual([]);
  await by("mira", "PATCH", path, { has_pull_requests: true, has_issues: false });
  expect((await by("mira", "GET", `${path}/pulls/1`)).status).toBe(200);
  expect((await by("mira", "GET", `${path}/issues/1`)).status).toBe(200);
  expect((await by("mira", "GET", `${path}/issues`)).json).toHaveLength(1);
  expect((await by("mira", "POST", `${path}/issues`, { title: "x" })).status).toBe(404);
});

test("the head may be a fork, whose objects the base gets, and the parent of a fork", async () => {
  const path = await newRepository(["topic"]);
  const repo = path.replace("/repos/mira/", "");
  expect((await by("otto", "POST", `${path}/forks`, { name: "own" })).status).toBe(202);
  await by("otto", "POST", "/repos/otto/own/contents/more.txt", {
    content: "",
    new_branch: "feature/x",
  });
  const made = await open(path, "otto:feature/x", {}, "otto");
  expect(made).toMatchObject({
    status: 201,
    json: { head: { label: "feature/x", repo: { full_name: "otto/own", fork: true } } },
  });
  const address = `${daemon.url}${path.replace("/repos", "")}.git`;
  await git.run("init", "-q", "fetched");
  const fetched = await git.in("fetched", "fetch", "-q", address, "refs/pull/1/head");
  expect(fetched.exitCode).toBe(0);
  expect((await git.in("fetched", "rev-parse", "FETCH_HEAD")).output.trim()).toBe(
    made.json.head.sha,
  );
  const found = await by("mira", "GET", `${path}/pulls/main/otto%2Fown%3Afeature%2Fx`);
  expect(found.json.number).toBe(1);
  const back = await by("otto", "POST", "/repos/otto/own/pulls", {
    head: "mira:topic",
    base: "main",
    title: "Back",
  });
  expect(back).toMatchObject({
    status: 201,
    json: { head: { repo: { full_name: `mira/${repo}` } } },
  });
  const unrelated = (await newRepository(["topic"])).replace("/repos/", "");
  expect((await open(path, `${unrelated}:topic`)).status).toBe(404);
});
