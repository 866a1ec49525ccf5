import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const repositories = createPullRepositories(
  () => daemon,
  people,
  () => git,
);
const { create, addFile, open, headOf, expectPull } = repositories;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const timeline = async (path: string, number: number) =>
  (await by("mira", "GET", `${path}/issues/${number}/timeline`)).json;

test("mergeable, conflicts, merge base and counts follow pushes to head and base", async () => {
  const path = await create(["topic"]);
  const base = await headOf(path, "main");
  await open(path, "topic");
  const mergeable = {
    mergeable: true,
    merge_base: base,
    additions: 1,
    deletions: 0,
    changed_files: 1,
  };
  await expectPull(path, 1, mergeable);
  // The base gets another file, then the same file with other contents.
  await addFile(path, "main", "other.txt", "other\n");
  const moved = await headOf(path, "main");
  await expectPull(path, 1, { ...mergeable, base: { sha: moved } });
  await addFile(path, "main", "topic.txt", "conflict\n");
  await expectPull(path, 1, { mergeable: false, merge_base: base, changed_files: 1 });
  expect((await by("mira", "GET", `${path}/pulls/1`)).json.base.sha).toBe(
    await headOf(path, "main"),
  );
  await repositories.clone(path, "state", "topic");
  await git.in("state", "merge", "-q", "-X", "ours", "origin/main");
  await git.in("state", "push", "-q", "origin", "topic");
  await expectPull(path, 1, { mergeable: true, merge_base: await headOf(path, "main") });
  await by("mira", "PATCH", `${path}/pulls/1`, { title: "[wip] x" });
  expect((await by("mira", "GET", `${path}/pulls/1`)).json).toMatchObject({
    draft: true,
    mergeable: false,
  });
});

test("a push to the head, forced or not, moves it and appears in the timeline", async () => {
  const path = await create(["topic"]);
  const before = await headOf(path, "topic");
  await open(path, "topic");
  await addFile(path, "topic", "second.txt", "second\n");
  const second = await headOf(path, "topic");
  await expectPull(path, 1, { head: { sha: second }, changed_files: 2, mergeable: true });
  const pushes = async () =>
    (await timeline(path, 1))
      .filter(({ type }: { type: string }) => type === "pull_push")
      .map(({ body }: { body: string }) => JSON.parse(body));
  await expect
    .poll(pushes, { interval: 20 })
    .toEqual([{ is_force_push: false, commit_ids: [second] }]);
  await repositories.clone(path, "forced", "topic");
  await git.in("forced", "reset", "-q", "--hard", before);
  await git.in("forced", "commit", "-q", "--allow-empty", "-m", "Other");
  await git.in("forced", "push", "-q", "-f", "origin", "topic");
  const forced = await headOf(path, "topic");
  await expectPull(path, 1, { head: { sha: forced }, changed_files: 1 });
  await expect
    .poll(pushes, { interval: 20 })
    .toEqual([expect.anything(), { is_force_push: true, commit_ids: [forced] }]);
  const served = await git.run("ls-remote", repositories.addressOf(path), "refs/pull/1/head");
  expect(served.output).toBe(`${forced}\trefs/pull/1/head\n`);
  // A head that is reset to the base leaves an open, empty pull request.
  await git.in("forced", "push", "-q", "-f", "origin", "origin/main:topic");
  await expectPull(path, 1, { state: "open", changed_files: 0, additions: 0, mergeable: true });
});

test("the deletion of the head closes a pull request, which is reopened once the branch is back", async () => {
  const path = await create(["topic"]);
  await open(path, "topic");
  const sha = await headOf(path, "topic");
  expect((await by("mira", "DELETE", `${path}/branches/topic`)).status).toBe(204);
  await expectPull(path, 1, {
    state: "closed",
    merged: false,
    head: { label: "topic", ref: "refs/pull/1/head", sha },
  });
  const kinds = (await timeline(path, 1)).map(({ type, old_ref }: Record<string, string>) => [
    type,
    old_ref,
  ]);
  expect(kinds).toEqual([
    ["delete_branch", "topic"],
    ["close", ""],
  ]);
  expect((await by("mira", "PATCH", `${path}/pulls/1`, { state: "open" })).status).toBe(412);
  await git.run("init", "-q", "back");
  const address = repositories.addressOf(path);
  await git.in("back", "fetch", "-q", address, "refs/pull/1/head");
  await git.in("back", "push", "-q", address, "FETCH_HEAD:refs/heads/topic");
  expect((await by("mira", "PATCH", `${path}/issues/1`, { state: "open" })).status).toBe(201);
  await expectPull(path, 1, { state: "open", mergeable: true, head: { ref: "topic" } });
});

test("a closed pull request does not follow its branches, and catches up when it is reopened", async () => {
  const path = await create(["topic"]);
  await open(path, "topic");
  await expectPull(path, 1, { mergeable: true });
  const closed = await headOf(path, "topic");
  await by("mira", "PATCH", `${path}/pulls/1`, { state: "closed" });
  await addFile(path, "topic", "late.txt", "late\n");
  await addFile(path, "main", "base.txt", "base\n");
  expect((await by("mira", "GET", `${path}/pulls/1`)).json.head.sha).toBe(closed);
  await by("mira", "PATCH", `${path}/pulls/1`, { state: "open" });
  await expectPull(path, 1, {
    mergeable: true,
    changed_files: 2,
    head: { sha: await headOf(path, "topic") },
    base: { sha: await headOf(path, "main") },
  });
});

test("pull requests into a deleted branch move to the default branch, and a renamed branch is renamed in them", async () => {
  const path = await create(["topic", "dev", "two"]);
  await open(path, "topic", { base: "dev" });
  await open(path, "two");
  await by("mira", "DELETE", `${path}/branches/dev`);
  await expectPull(path, 1, { state: "open", mergeable: true, base: { ref: "main" } });
  expect(await timeline(path, 1)).toContainEqual(
    expect.objectContaining({ type: "change_target_branch", old_ref: "dev", new_ref: "main" }),
  );
  const renamed = await by("mira", "PATCH", `${path}/branches/two`, { name: "three" });
  expect(renamed.status).toBe(204);
  await expectPull(path, 2, { state: "open", head: { ref: "three", label: "three" } });
  await by("mira", "PATCH", `${path}/branches/main`, { name: "trunk" });
  await expectPull(path, 1, { state: "open", base: { ref: "trunk" } });
  await addFile(path, "trunk", "more.txt", "more\n");
  await expectPull(path, 1, { mergeable: true, base: { sha: await headOf(path, "trunk") } });
});

test("the head of a fork is followed, and its deletion closes the pull request", async () => {
  const path = await create(["topic"]);
  await by("otto", "POST", `${path}/forks`, { name: "followed" });
  const file = (name: string) =>
    by("otto", "POST", `/repos/otto/followed/contents/${name}`, { content: "", branch: "topic" });
  expect((await file("a.txt")).status).toBe(201);
  await open(path, "otto:topic", {}, "otto");
  await file("b.txt");
  await expectPull(path, 1, { mergeable: true, changed_files: 3 });
  const sha = (await by("otto", "GET", "/repos/otto/followed/branches/topic")).json.commit.id;
  expect((await git.run("ls-remote", repositories.addressOf(path), "refs/pull/*")).output).toBe(
    `${sha}\trefs/pull/1/head\n`,
  );
  await by("otto", "DELETE", "/repos/otto/followed");
  await expectPull(path, 1, {
    state: "closed",
    head: { label: "topic", ref: "refs/pull/1/head", sha, repo: null, repo_id: -1 },
  });
});

test("the purge of an account closes the pull requests from its forks", async () => {
  const path = await create([]);
  const who = await people.newUser("lena");
  await by(who, "POST", `${path}/forks`, { name: "gone" });
  await by(who, "POST", `/repos/${who}/gone/contents/a.txt`, { content: "", new_branch: "topic" });
  await open(path, `${who}:topic`, {}, who);
  await expectPull(path, 1, { mergeable: true });
  expect((await people.api("DELETE", `/admin/users/${who}?purge=true`)).status).toBe(204);
  expect((await by("mira", "GET", `${path}/pulls/1`)).json).toMatchObject({
    state: "closed",
    mergeable: false,
    head: { repo: null, repo_id: -1, ref: "refs/pull/1/head" },
  });
  expect((await by("mira", "GET", path)).json).toMatchObject({ open_pr_counter: 0 });
  expect((await timeline(path, 1)).at(-1)).toMatchObject({ type: "close" });
  const reopened = await by("mira", "PATCH", `${path}/pulls/1`, { state: "open" });
  expect(reopened.status).toBe(412);
});

test("comments of a repository are those on the kinds that it has in use", async () => {
  const path = await create(["topic"]);
  const pull = (await open(path, "topic")).json;
  const issue = (await by("mira", "POST", `${path}/issues`, { title: "roof" })).json;
  await by("mira", "POST", `${path}/issues/${issue.number}/comments`, { body: "on the issue" });
  await by("mira", "POST", `${path}/issues/${pull.number}/comments`, { body: "on the pull" });
  const texts = async () =>
    (await by("mira", "GET", `${path}/issues/comments`)).json.map(
      ({ body }: { body: string }) => body,
    );
  expect(await texts()).toEqual(["on the issue", "on the pull"]);
  await by("mira", "PATCH", path, { has_issues: false });
  const ofPulls = await by("mira", "GET", `${path}/issues/comments`);
  expect(ofPulls.headers.get("x-total-count")).toBe("1");
  expect(await texts()).toEqual(["on the pull"]);
  await by("mira", "PATCH", path, { has_issues: true, has_pull_requests: false });
  expect(await texts()).toEqual(["on the issue"]);
});
