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
  for (const name of ["mira", "otto", "rosa"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const revert = (path: string, number: number, body: object = {}, who = "mira") =>
  by(who, "POST", `${path}/pulls/${number}/revert`, body);
const filesOf = async (path: string, ref: string) =>
  ((await by("mira", "GET", `${path}/contents?ref=${ref}`)).json as { name: string }[])
    .map(({ name }) => name)
    .toSorted();

/** Opens a pull request, waits until it may be merged and merges it. Returns its number. */
async function merge(path: string, head: string, style: string): Promise<number> {
  const { number } = (await pulls.open(path, head)).json;
  await pulls.expectPull(path, number, { mergeable: true });
  const merged = await by("mira", "POST", `${path}/pulls/${number}/merge`, { do: style });
  expect([merged.status, merged.text]).toEqual([200, ""]);
  return number;
}

test.each(["merge", "squash", "rebase", "rebase-merge", "fast-forward-only"])(
  "a revert takes back all commits of a merge by %s, and keeps what came later",
  async (style) => {
    const path = await pulls.create(["topic"]);
    if (style === "fast-forward-only")
      await by("mira", "PATCH", path, { allow_fast_forward_only_merge: true });
    await pulls.addFile(path, "topic", "second.txt", "second\n");
    if (style !== "fast-forward-only") await pulls.addFile(path, "main", "before.txt", "before\n");
    const before = await filesOf(path, "main");
    const number = await merge(path, "topic", style);
    expect(await filesOf(path, "main")).toContain("second.txt");
    await pulls.addFile(path, "main", "later.txt", "later\n");
    const made = await revert(path, number);
    expect(made).toMatchObject({
      status: 201,
      json: {
        title: 'Revert "Merge topic"',
        body: `Reverts #${number}.`,
        head: { ref: `revert-${number}` },
        base: { ref: "main" },
        user: { login: "mira" },
        state: "open",
      },
    });
    expect(await filesOf(path, `revert-${number}`)).toEqual([...before, "later.txt"].toSorted());
    const { json: commits } = await by("mira", "GET", `${path}/commits?sha=revert-${number}`);
    expect(commits[0].commit.message).toMatch(
      new RegExp(
        `^Revert "Merge topic"\\n\\nThis reverts (?:commit [0-9a-f]{40}|the commits [0-9a-f]{40}\\.\\.[0-9a-f]{40}), which pull request #${number} merged\\.\\n$`,
      ),
    );
    expect(commits[0].parents[0].sha).toBe(await pulls.headOf(path, "main"));
    await pulls.expectPull(path, made.json.number, { mergeable: true });
    const done = await by("mira", "POST", `${path}/pulls/${made.json.number}/merge`, {
      do: "merge",
    });
    expect(done.status).toBe(200);
    // What the base does not have is not reverted again; the revert itself is.
    expect(await revert(path, number)).toMatchObject({ status: 422 });
    const again = await revert(path, made.json.number, { branch: "again", title: "Once more" });
    expect(again).toMatchObject({ status: 201, json: { title: "Once more" } });
    expect(await filesOf(path, "again")).toContain("second.txt");
  },
  60_000,
);

test("a revert of a merge by hand takes back what the head brought", async () => {
  const path = await pulls.create(["topic"]);
  await by("mira", "PATCH", path, { allow_manual_merge: true });
  const { number } = (await pulls.open(path, "topic")).json;
  await pulls.expectPull(path, number, { mergeable: true });
  await pulls.clone(path, "by-hand", "main");
  await git.in("by-hand", "merge", "-q", "--squash", "origin/topic");
  await git.in("by-hand", "commit", "-q", "-m", "by hand");
  expect((await git.in("by-hand", "push", "-q")).exitCode).toBe(0);
  const tip = await pulls.headOf(path, "main");
  const marked = await by("mira", "POST", `${path}/pulls/${number}/merge`, {
    do: "manually-merged",
    merge_commit_id: tip,
  });
  expect(marked.status).toBe(200);
  expect((await revert(path, number)).status).toBe(201);
  expect(await filesOf(path, `revert-${number}`)).not.toContain("topic.txt");
});

test("a revert that conflicts names the files and the command, and leaves no branch", async () => {
  const path = await pulls.create(["topic"]);
  const number = await merge(path, "topic", "squash");
  const { json: file } = await by("mira", "GET", `${path}/contents/topic.txt`);
  await by("mira", "PUT", `${path}/contents/topic.txt`, {
    content: Buffer.from("changed\n").toString("base64"),
    sha: file.sha,
  });
  const refused = await revert(path, number);
  expect(refused.status).toBe(409);
  const { merge_commit_sha: sha } = (await by("mira", "GET", `${path}/pulls/${number}`)).json;
  expect(refused.json.message).toBe(
    `cannot revert because later commits changed the same lines of topic.txt; revert it in a clone: git revert ${sha}`,
  );
  expect((await by("mira", "GET", `${path}/branches/revert-${number}`)).status).toBe(404);
});

test("a revert is refused without the right to push, for open ones, for bad and taken names, and in an archive", async () => {
  const path = await pulls.create(["topic", "open"]);
  const number = await merge(path, "topic", "merge");
  await pulls.open(path, "open");
  expect((await revert(path, number, {}, "rosa")).status).toBe(403);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  expect((await revert(path, number, {}, "otto")).status).toBe(403);
  expect(await revert(path, number + 1)).toMatchObject({
    status: 422,
    json: { message: "the pull request is not merged" },
  });
  for (const branch of ["a..b", "x\0delete refs/heads/main", "-x/.lock", "a b"])
    expect((await revert(path, number, { branch })).status).toBe(422);
  expect(await revert(path, number, { branch: "open" })).toMatchObject({ status: 409 });
  await by("mira", "POST", `${path}/branches`, { new_branch_name: "revert-1/inside" });
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  expect(await revert(path, number, {}, "otto")).toMatchObject({
    status: 201,
    json: { head: { ref: "revert-1-2" }, user: { login: "otto" } },
  });
  await by("mira", "PATCH", path, { archived: true });
  expect((await revert(path, number)).status).toBe(423);
});
