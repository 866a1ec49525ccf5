import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

/** A repository of mira's, and a clone of otto's, who may only read it. */
async function newRepository(fields: object = {}) {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  const path = `/repos/mira/${name}`;
  const addressOf = (user: string) =>
    `${daemon.url.replace("://", `://${user}:${people.tokenOf(user)}@`)}/mira/${name}.git`;
  if ("private" in fields)
    await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  expect((await git.run("clone", "-q", addressOf("otto"), name)).exitCode).toBe(0);
  const commit = (message: string) => git.in(name, "commit", "-q", "--allow-empty", "-m", message);
  const push = (user: string, ...words: readonly string[]) =>
    git.in(name, "push", addressOf(user), ...words);
  const head = async () => (await git.in(name, "rev-parse", "HEAD")).output.trim();
  return { name, path, commit, push, head, addressOf };
}

describe("a push for review", () => {
  test("a reader's push opens a pull request without a branch, and pushed again it moves that one", async () => {
    const { name, path, commit, push, head, addressOf } = await newRepository();
    await commit("Add a chapter\n\nIt is short.");
    const opened = await push("otto", "HEAD:refs/for/main", "-o", "topic=chapter");
    expect(opened.exitCode, opened.errors).toBe(0);
    expect(opened.errors).toContain(`${daemon.url}/mira/${name}/pulls/1`);
    const first = await head();
    const shown = await by("otto", "GET", `${path}/pulls/1`);
    expect(shown.json).toMatchObject({
      title: "Add a chapter",
      body: "It is short.",
      state: "open",
      user: { login: "otto" },
      head: { label: "", ref: "refs/pull/1/head", sha: first, repo: { full_name: `mira/${name}` } },
      base: { ref: "main" },
    });
    await commit("More");
    const moved = await push("otto", "HEAD:refs/for/main/chapter");
    expect(moved.exitCode, moved.errors).toBe(0);
    const second = await head();
    expect((await by("otto", "GET", `${path}/pulls/1`)).json.head.sha).toBe(second);
    const served = await git.run("ls-remote", addressOf("rosa"), "refs/pull/*", "refs/for/*");
    expect(served.output).toBe(`${second}\trefs/pull/1/head\n`);
    const timeline = await by("otto", "GET", `${path}/issues/1/timeline`);
    const pushed = timeline.json.find(({ type }: { type: string }) => type === "pull_push");
    expect(JSON.parse(pushed.body)).toEqual({ is_force_push: false, commit_ids: [second] });
    // It has no branch that an update could move, for nobody.
    for (const who of ["mira", "otto"])
      expect((await by(who, "POST", `${path}/pulls/1/update`)).status).toBe(403);
    // Rewritten history needs the option.
    await git.in(name, "commit", "-q", "--amend", "--allow-empty", "-m", "Rewritten");
    const refused = await push("otto", "HEAD:refs/for/main/chapter");
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining("force-push")]);
    expect((await by("otto", "GET", `${path}/pulls/1`)).json.head.sha).toBe(second);
    const forced = await push("otto", "HEAD:refs/for/main/chapter", "-o", "force-push=true");
    expect(forced.exitCode, forced.errors).toBe(0);
    expect((await by("otto", "GET", `${path}/pulls/1`)).json.head.sha).toBe(await head());
    // The topic of another person is another pull request; its text comes from the options.
    const options = ["-o", "topic=chapter", "-o", "title=Mine", "-o", "description=Why"];
    const other = await push("rosa", "HEAD:refs/for/main", ...options);
    expect(other.errors).toContain("/pulls/2");
    expect((await by("rosa", "GET", `${path}/pulls/2`)).json).toMatchObject({
      title: "Mine",
      body: "Why",
      user: { login: "rosa" },
    });
    expect((await by("mira", "GET", `${path}/branches`)).json).toHaveLength(1);
  });

  test("a push for review is refused in words, and opens nothing", async () => {
    const { path, commit, push } = await newRepository();
    await commit("Text");
    for (const [words, reason] of [
      [["HEAD:refs/for/main"], "name the topic"],
      [["HEAD:refs/for/none/topic"], "no branch to merge into"],
      [["HEAD:refs/for/main/a", "HEAD:refs/for/main/b"], "one ref"],
      [["HEAD:refs/for/main/a", "HEAD:main"], "one ref"],
      [["HEAD:refs/pull/1/head"], "you may not push"],
      [["HEAD:main"], "you may not push to this repository"],
    ] as const) {
      const pushed = await push("otto", ...words);
      expect([words, pushed.exitCode], pushed.errors).toEqual([words, 1]);
      expect(pushed.errors).toContain(reason);
    }
    const own = await push("mira", "HEAD:refs/pull/1/head");
    expect([own.exitCode, own.errors]).toEqual([1, expect.stringContaining("cannot be pushed to")]);
    expect((await by("mira", "GET", `${path}/pulls?state=all`)).json).toEqual([]);
    await by("mira", "PATCH", path, { has_pull_requests: false });
    const off = await push("otto", "HEAD:refs/for/main/a");
    expect(off.exitCode).not.toBe(0);
    const hidden = await newRepository({ private: true });
    expect((await hidden.push("rosa", "HEAD:refs/for/main/a")).exitCode).not.toBe(0);
    expect((await hidden.push("otto", "HEAD:refs/for/main/a")).exitCode).toBe(0);
    const anonymous = await git.in(
      hidden.name,
      "push",
      `${daemon.url}/mira/${hidden.name}.git`,
      "HEAD:refs/for/main/b",
    );
    expect(anonymous.exitCode).not.toBe(0);
  });

  test("the push of a new branch prints where it becomes a pull request", async () => {
    const { name, commit, push } = await newRepository();
    await commit("Text");
    const pushed = await push("mira", "HEAD:refs/heads/topic/a");
    expect(pushed.errors).toContain("Create a new pull request for 'topic/a':");
    expect(pushed.errors).toContain(`${daemon.url}/mira/${name}/compare/main...topic%2Fa`);
    await commit("More");
    expect((await push("mira", "HEAD:refs/heads/topic/a")).errors).not.toContain("Create a new");
  });
});
