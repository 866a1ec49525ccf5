import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const pulls = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "renovate"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A request that must succeed; returns its body. */
async function ok(who: string, method: string, path: string, body?: object) {
  const { status, json, text } = await by(who, method, path, body);
  expect([method, path, status < 300], text).toEqual([method, path, true]);
  return json;
}

test("Renovate finds repositories, opens, updates, labels and merges pull requests with the calls of its Gitea platform", async () => {
  const me = await ok("renovate", "GET", "/user");
  expect(me).toMatchObject({
    id: expect.any(Number),
    username: "renovate",
    email: expect.any(String),
  });
  const { version } = await ok("renovate", "GET", "/version");
  expect(version).toMatch(/^\d+\.\d+/);
  const path = await pulls.create(["renovate/tea-2.x", "stale"]);
  const home = path.replace("/repos/", "");
  await by("mira", "PUT", `${path}/collaborators/renovate`, { permission: "write" });
  const search = await ok("renovate", "GET", `/repos/search?uid=${me.id}&archived=false`);
  expect(search).toMatchObject({ ok: true });
  expect(search.data.map(({ full_name: name }: { full_name: string }) => name)).toContain(home);
  const repository = await ok("renovate", "GET", path);
  expect(repository).toMatchObject({
    archived: false,
    mirror: false,
    empty: false,
    has_pull_requests: true,
    default_branch: "main",
    allow_merge_commits: true,
    allow_rebase: true,
    allow_rebase_explicit: true,
    allow_squash_merge: true,
    allow_fast_forward_only_merge: true,
    permissions: { pull: true, push: true },
    clone_url: expect.stringContaining(".git"),
  });
  const file = await ok("renovate", "GET", `${path}/contents/README.md?ref=main`);
  expect(Buffer.from(file.content, "base64").toString()).toContain("#");
  const label = await ok("mira", "POST", `${path}/labels`, { name: "deps", color: "00ff00" });
  const labels = await ok("renovate", "GET", `${path}/labels`);
  expect(labels).toMatchObject([{ id: label.id, name: "deps" }]);

  const branch = encodeURIComponent("renovate/tea-2.x");
  const { commit } = await ok("renovate", "GET", `${path}/branches/${branch}`);
  const made = await ok("renovate", "POST", `${path}/pulls`, {
    base: "main",
    head: "renovate/tea-2.x",
    title: "Update tea to 2.x",
    body: "See [notes](../issues/1)",
    labels: [label.id],
  });
  const list = await ok("renovate", "GET", `${path}/pulls?state=all&sort=recentupdate`);
  // What it reads of each; without base, head or repository it skips the pull request.
  expect(list).toMatchObject([
    {
      number: made.number,
      state: "open",
      merged: false,
      title: "Update tea to 2.x",
      body: "See [notes](../issues/1)",
      user: { login: "renovate", username: "renovate" },
      base: { ref: "main" },
      head: { label: "renovate/tea-2.x", sha: commit.id, repo: { full_name: home } },
      labels: [{ name: "deps" }],
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      closed_at: null,
      diff_url: expect.stringMatching(/\.diff$/),
      assignee: null,
    },
  ]);
  const pull = `${path}/pulls/${made.number}`;
  await ok("renovate", "PATCH", pull, { title: "WIP: Update tea", body: "New", state: "open" });
  expect(await ok("renovate", "PATCH", pull, { title: "Update tea" })).toMatchObject({
    title: "Update tea",
    body: "New",
  });
  await ok("renovate", "POST", `${pull}/requested_reviewers`, { reviewers: ["mira"] });

  const status = { state: "success", context: "renovate/stability-days", description: "Fine" };
  await ok("renovate", "POST", `${path}/statuses/${commit.id}`, status);
  const statuses = await ok("renovate", "GET", `${path}/commits/${branch}/statuses`);
  expect(statuses).toMatchObject([{ status: "success", context: status.context }]);

  const comments = `${path}/issues/${made.number}/comments`;
  const comment = await ok("renovate", "POST", comments, { body: "### Notes" });
  expect(await ok("renovate", "GET", comments)).toMatchObject([{ id: comment.id }]);
  await ok("renovate", "PATCH", `${path}/issues/comments/${comment.id}`, { body: "### More" });
  await ok("renovate", "DELETE", `${path}/issues/comments/${comment.id}`);

  const dashboard = { title: "Dependency Dashboard", body: "- [ ] tea" };
  const issue = await ok("renovate", "POST", `${path}/issues`, dashboard);
  expect(await ok("renovate", "GET", `${path}/issues?state=all&type=issues`)).toMatchObject([
    { number: issue.number, title: dashboard.title, state: "open", labels: [], assignees: null },
  ]);
  await ok("renovate", "PUT", `${path}/issues/${issue.number}/labels`, { labels: [label.id] });
  await ok("renovate", "DELETE", `${path}/issues/${issue.number}/labels/${label.id}`);
  const closed = { title: dashboard.title, body: "Done", state: "closed", assignees: [] };
  expect(await ok("renovate", "PATCH", `${path}/issues/${issue.number}`, closed)).toMatchObject({
    state: "closed",
  });

  await pulls.expectPull(path, made.number, { mergeable: true });
  await ok("renovate", "POST", `${pull}/merge`, { Do: "rebase-merge" });
  expect(await ok("renovate", "GET", pull)).toMatchObject({ merged: true, state: "closed" });
  const other = { base: "main", head: "stale", title: "Stale" };
  const { number } = await ok("renovate", "POST", `${path}/pulls`, other);
  await ok("renovate", "PATCH", `${path}/pulls/${number}`, { state: "closed" });
  const [latest] = await ok("renovate", "GET", `${path}/pulls?state=all&sort=recentupdate`);
  expect(latest).toMatchObject({ number, state: "closed", merged: false });
});

test("tea lists, creates, checks out, reviews, approves, rejects, merges and cleans pull requests with the calls of its SDK", async () => {
  const path = await pulls.create(["topic"]);
  await by("mira", "PUT", `${path}/collaborators/renovate`, { permission: "write" });
  // `tea pulls create`, from a branch that is pushed.
  const repository = await ok("renovate", "GET", path);
  const made = await ok("renovate", "POST", `${path}/pulls`, {
    head: "topic",
    base: repository.default_branch,
    title: "Topic",
    body: "Text",
    assignee: "",
    assignees: null,
    reviewers: null,
    team_reviewers: null,
    milestone: 0,
    labels: null,
    due_date: null,
  });
  const pull = `${path}/pulls/${made.number}`;
  // `tea pulls ls`
  const list = await ok("mira", "GET", `${path}/pulls?limit=30&page=1&state=open`);
  expect(list).toMatchObject([
    {
      number: made.number,
      title: "Topic",
      state: "open",
      merged: false,
      draft: false,
      user: { login: "renovate", full_name: "" },
      milestone: null,
      labels: [],
      comments: 0,
      base: { label: "main", ref: "main", sha: expect.any(String), repo: { id: repository.id } },
      head: { label: "topic", ref: "topic", sha: made.head.sha, repo: { id: repository.id } },
      updated_at: expect.stringMatching(/Z$/),
    },
  ]);
  // `tea pulls N`
  await ok("mira", "GET", pull);
  expect(await ok("mira", "GET", `${pull}/reviews?limit=0&page=0`)).toEqual([]);
  const checks = await ok("mira", "GET", `${path}/commits/${made.head.sha}/status`);
  expect(checks.sha).toBe(made.head.sha);
  await ok("mira", "GET", `${path}/issues/${made.number}/comments?limit=0&page=0`);
  // `tea pulls checkout N`
  const fetched = await git.run(
    "ls-remote",
    pulls.addressOf(path),
    `refs/pull/${made.number}/head`,
  );
  expect(fetched.output).toContain(made.head.sha);
  // `tea pulls review`, `reject` and `approve`.
  const diff = await by("mira", "GET", `${pull}.diff`);
  expect(diff.text).toContain("+++ b/topic.txt");
  const lines = [{ path: "topic.txt", body: "Why?", old_position: 0, new_position: 1 }];
  await ok("mira", "POST", `${pull}/reviews`, {
    event: "COMMENT",
    body: "",
    commit_id: "",
    comments: lines,
  });
  const rejected = { event: "REQUEST_CHANGES", body: "No", commit_id: "", comments: null };
  expect(await ok("mira", "POST", `${pull}/reviews`, rejected)).toMatchObject({
    state: "REQUEST_CHANGES",
  });
  const approved = { event: "APPROVED", body: "Yes", commit_id: "", comments: null };
  expect(await ok("mira", "POST", `${pull}/reviews`, approved)).toMatchObject({
    state: "APPROVED",
    user: { login: "mira" },
    official: true,
  });
  // `tea pulls merge`
  await pulls.expectPull(path, made.number, { mergeable: true });
  await ok("mira", "POST", `${pull}/merge`, {
    Do: "squash",
    MergeCommitID: "",
    MergeTitleField: "Topic, squashed",
    MergeMessageField: "Text",
  });
  expect(await ok("mira", "GET", pull)).toMatchObject({
    merged: true,
    merged_at: expect.stringMatching(/Z$/),
    merge_commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
  });
  const [tip] = await ok("mira", "GET", `${path}/commits?limit=1`);
  expect(tip.commit.message.trim()).toMatch(/^Topic, squashed\n\nText/);
  // `tea pulls clean` deletes the branch by git.
  await pulls.clone(path, "clean", "topic", "renovate");
  const cleaned = await git.in("clean", "push", "origin", "--delete", "topic");
  expect(cleaned.exitCode, cleaned.errors).toBe(0);
  expect(await ok("mira", "GET", pull)).toMatchObject({
    head: { ref: `refs/pull/${made.number}/head`, label: "topic", sha: made.head.sha },
  });
});
