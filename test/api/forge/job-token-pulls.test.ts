import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { fetchTask, registerRunner } from "../../support/forge/runner-client.ts";

// What the token of a job may do to pull requests, by the permissions that its workflow grants.

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
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Starts a job with each of these permissions by a push of mira. Returns their tokens. */
async function newTokens(path: string, permissions: Readonly<Record<string, string>>) {
  const jobs = Object.entries(permissions).map(
    ([name, granted]) =>
      `  ${name}: { runs-on: ${name}, permissions: ${granted}, steps: [{ run: echo }] }\n`,
  );
  const { json } = await by("mira", "POST", `${path}/actions/runners/registration-token`);
  await pulls.addFile(path, "jobs", ".gitea/workflows/ci.yml", `on: push\njobs:\n${jobs.join("")}`);
  const tokens: Record<string, string> = {};
  for (const name of Object.keys(permissions)) {
    const runner = await registerRunner(daemon, json.token, { name, labels: [name] });
    await expect
      .poll(
        async () => {
          const { task } = await fetchTask(daemon, runner);
          tokens[name] ||= (task?.context as { token?: string } | undefined)?.token ?? "";
          return tokens[name];
        },
        { timeout: 60_000 },
      )
      .not.toBe("");
  }
  return {
    tokens,
    as: (name: string) => (method: string, rest: string, json?: object) =>
      people.api(method, `${path}${rest}`, json, tokens[name]),
  };
}

test("the token of a job changes pull requests with pull-requests, and merges with contents too", async () => {
  const path = await pulls.create(["one"]);
  await pulls.open(path, "one", {}, "mira");
  await pulls.expectPull(path, 1, { mergeable: true });
  const { as: by } = await newTokens(path, {
    statuses: "{ statuses: write }",
    issues: "{ issues: write, contents: write }",
    pulls: "{ pull-requests: write, contents: read }",
    both: "{ pull-requests: write, contents: write }",
  });
  const statusOf = async (name: string, method: string, rest: string, json?: object) =>
    (await by(name)(method, rest, json)).status;
  const edit = { title: "Other" };
  const merge = { do: "merge" };
  expect(await statusOf("statuses", "PATCH", "/pulls/1", edit)).toBe(403);
  expect(await statusOf("issues", "PATCH", "/pulls/1", edit)).toBe(403);
  expect(await statusOf("pulls", "PATCH", "/pulls/1", edit)).toBe(201);
  // A pull request is an issue: either permission serves its comments.
  const comment = { body: "hello" };
  expect(await statusOf("statuses", "POST", "/issues/1/comments", comment)).toBe(403);
  expect(await statusOf("issues", "POST", "/issues/1/comments", comment)).toBe(201);
  const made = await by("pulls")("POST", "/issues/1/comments", comment);
  expect(made.status).toBe(201);
  expect(await statusOf("pulls", "PATCH", `/issues/comments/${made.json.id}`, { body: "x" })).toBe(
    200,
  );
  expect(await statusOf("pulls", "POST", "/issues", { title: "An issue" })).toBe(403);
  for (const name of ["statuses", "issues", "pulls"]) {
    const refused = await by(name)("POST", "/pulls/1/merge", merge);
    expect(refused.status).toBe(403);
    expect(refused.json.message).toContain("the token of this job needs the permission");
    expect(await statusOf(name, "POST", "/pulls/1/update")).toBe(403);
    expect(await statusOf(name, "POST", "/pulls/1/revert", {})).toBe(403);
    expect(await statusOf(name, "POST", "/pulls/1/suggestions", { comments: [1] })).toBe(403);
    expect(await statusOf(name, "DELETE", "/pulls/1/merge")).toBe(403);
  }
  expect(await statusOf("both", "POST", "/pulls/1/merge", merge)).toBe(200);
  await pulls.expectPull(path, 1, { merged: true });
});

test("a job opens a pull request by a push for review only with pull-requests: write", async () => {
  const path = await pulls.create([]);
  const { tokens } = await newTokens(path, { contents: "{ contents: write }" });
  const address = daemon.url.replace("://", `://x:${tokens["contents"]}@`);
  const clone = await git.run("clone", "-q", `${address}${path.replace("/repos", "")}.git`, "agit");
  expect(clone.exitCode).toBe(0);
  await git.in("agit", "commit", "-q", "--allow-empty", "-m", "by a job");
  const pushed = await git.in("agit", "push", "origin", "HEAD:refs/for/main", "-o", "topic=job");
  expect(pushed.exitCode).not.toBe(0);
  expect(pushed.errors).toContain("pull-requests: write");
  expect((await by("mira", "GET", `${path}/pulls?state=all`)).json).toEqual([]);
});

test("the verdict of a job counts for no rule and replaces none of the person in whose name it runs", async () => {
  const path = await pulls.create(["one", "two"]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  await pulls.open(path, "one", {}, "otto");
  await pulls.open(path, "two", {}, "mira");
  await pulls.expectPull(path, 1, { mergeable: true });
  await by("mira", "POST", `${path}/branch_protections`, {
    rule_name: "main",
    required_approvals: 1,
    block_on_rejected_reviews: true,
  });
  const rejected = await by("mira", "POST", `${path}/pulls/1/reviews`, {
    event: "REQUEST_CHANGES",
    body: "no",
  });
  expect(rejected.status).toBe(200);
  const draft = await by("mira", "POST", `${path}/pulls/1/reviews`, { body: "my draft" });
  expect(draft.json).toMatchObject({ state: "PENDING" });
  const asJob = (await newTokens(path, { all: "write-all" })).as("all");
  const approval = { event: "APPROVED", body: "by a job" };
  const approved = await asJob("POST", "/pulls/1/reviews", approval);
  expect(approved).toMatchObject({
    status: 200,
    json: { state: "APPROVED", official: false, user: { login: "mira" } },
  });
  expect((await asJob("POST", "/pulls/1/reviews", { body: "later" })).status).toBe(422);
  // The job runs in the name of mira, who has opened this one.
  expect((await asJob("POST", "/pulls/2/reviews", approval)).status).toBe(422);
  const reviews = (await by("mira", "GET", `${path}/pulls/1/reviews`)).json;
  expect(reviews).toMatchObject([
    { state: "REQUEST_CHANGES", official: true, dismissed: false },
    { state: "PENDING", body: "my draft" },
    { state: "APPROVED", official: false, body: "by a job" },
  ]);
  const merged = await asJob("POST", "/pulls/1/merge", { do: "merge" });
  expect(merged).toMatchObject({ status: 405 });
});
