import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";
import { withDatabaseFile } from "../../support/skip.ts";

// Events of issues, comments, packages, deleted refs and other runs: they start workflows of the default branch.

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "theo"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** A workflow with one job. */
const on = (name: string, events: string, rest = "") =>
  `name: ${name}\non: ${events}\njobs:\n  a: { runs-on: NAME, steps: [{ run: echo }] }\n${rest}`;

async function start(name: string, files: Readonly<Record<string, string>>) {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
  await repository.create();
  const named = Object.entries(files).map(([file, text]) => [file, text.replaceAll("NAME", name)]);
  await repository.push(Object.fromEntries(named));
  const as = (who: string) => (method: string, path: string, json?: object) =>
    people.api(method, `/repos/mira/${name}${path}`, json, people.tokenOf(who));
  const listRuns = async () =>
    (await repository.runs()).map(({ event, path, actor }) => [
      String(event),
      String(path).split("@", 1).join(),
      (actor as { login: string }).login,
    ]);
  return { repository, as, mira: as("mira"), theo: as("theo"), seen: listRuns };
}

/** The default branch is read by a job after the push: the first run proves that it has been read. */
const READY = on("ready", "push");

test("issues and comments start the workflows of the default branch, by their types", async () => {
  const {
    repository,
    mira,
    theo,
    seen: listRuns,
  } = await start("issues", {
    "ready.yml": READY,
    "any.yml": on("any", "issues"),
    "labels.yml": on("labels", "{ issues: { types: [labeled, closed] } }"),
    "comments.yml": on("comments", "{ issue_comment: { types: [created] } }"),
  });
  await repository.waitForRuns(1);
  await repository.work("SUCCESS");
  const { json: label } = await mira("POST", "/labels", { name: "bug", color: "#ff0000" });
  expect((await theo("POST", "/issues", { title: "Leaks", body: "x".repeat(40_000) })).status).toBe(
    201,
  );
  const opened = await repository.waitForRuns(2);
  expect(opened).toMatchObject({ event: "issues", head_branch: "main", display_title: "change" });
  const { task } = await repository.take();
  const context = task?.context as { token: string; event: Record<string, unknown> };
  expect(context).toMatchObject({
    event_name: "issues",
    ref: "refs/heads/main",
    actor: "theo",
    event: {
      action: "opened",
      issue: { number: 1, title: "Leaks", user: { login: "theo" } },
      repository: { full_name: "mira/issues" },
      sender: { login: "theo" },
    },
  });
  // The job writes in the name of the owner, because theo may not write here.
  const written = await people.api(
    "POST",
    "/repos/mira/issues/issues/1/comments",
    { body: "Thank you" },
    context.token,
  );
  expect(written.json).toMatchObject({ user: { login: "mira" } });
  await mira("POST", "/issues/1/labels", { labels: [label.id] });
  await repository.waitForRuns(4);
  await theo("POST", "/issues/1/comments", { body: "Any news?" });
  const comment = await repository.waitForRuns(5);
  expect(comment).toMatchObject({ event: "issue_comment" });
  // The comment of the job has started nothing.
  expect((await listRuns()).toSorted()).toEqual([
    ["issue_comment", "comments.yml", "theo"],
    ["issues", "any.yml", "mira"],
    ["issues", "any.yml", "theo"],
    ["issues", "labels.yml", "mira"],
    ["push", "ready.yml", "mira"],
  ]);
});

/** Makes an issue once a second until it starts a workflow: the default branch is read by a job. */
async function waitForIssueRun(
  { mira, seen: listRuns }: Awaited<ReturnType<typeof start>>,
  file: string,
) {
  await vi.waitUntil(
    async () => {
      expect((await mira("POST", "/issues", { title: "Leaks" })).status).toBe(201);
      return (await listRuns()).some(([event, path]) => event === "issues" && path === file);
    },
    { timeout: 30_000, interval: 1_000 },
  );
}

test("a push by a job changes the events of a repository, and starts no run", async () => {
  const started = await start("bot", { "ready.yml": `permissions: write-all\n${READY}` });
  const { repository, seen: listRuns } = started;
  await repository.waitForRuns(1);
  const { task } = await repository.take();
  const context = task?.context as { token: string };
  const { token } = context;
  const origin = daemon.url.replace("://", `://x:${token}@`);
  await git.in("bot", "remote", "set-url", "origin", `${origin}/mira/bot.git`);
  await repository.push({ "any.yml": on("any", "issues").replace("NAME", "bot") });
  await waitForIssueRun(started, "any.yml");
  expect((await listRuns()).filter(([event]) => event === "push")).toHaveLength(1);
});

test("events follow the default branch when another one is chosen and when it is renamed", async () => {
  const started = await start("moved", { "ready.yml": READY });
  const { repository, mira, seen: listRuns } = started;
  await repository.waitForRuns(1);
  const pushTo = async (branch: string, file: string) => {
    await git.in("moved", "checkout", "-q", "-b", branch);
    await git.in("moved", "rm", "-q", "-r", ".");
    await git.in("moved", "checkout", "-q", "main", "--", ".gitea/workflows/ready.yml");
    const path = join(git.folder, "moved/.gitea/workflows", file);
    await writeFile(path, on(file, "issues").replace("NAME", "moved"));
    await git.in("moved", "add", ".");
    await git.in("moved", "commit", "-q", "-m", branch);
    expect(await git.in("moved", "push", "-q", "origin", branch)).toMatchObject({ exitCode: 0 });
  };
  await pushTo("next", "next.yml");
  await repository.waitForRuns(2);
  await mira("POST", "/issues", { title: "Before" });
  expect((await mira("PATCH", "", { default_branch: "next" })).status).toBe(200);
  await waitForIssueRun(started, "next.yml");
  const beforeRename = (await listRuns()).length;
  expect((await mira("PATCH", "/branches/next", { name: "later" })).status).toBe(204);
  await repository.waitForRuns(beforeRename + 1);
  const before = (await listRuns()).length;
  await mira("POST", "/issues", { title: "After" });
  expect(await repository.waitForRuns(before + 1)).toMatchObject({ head_branch: "later" });
  await mira("PATCH", "", { default_branch: "main" });
});

withDatabaseFile(
  "a home of an earlier croft reads the events of its workflows once",
  async () => {
    const started = await start("earlier", { "ready.yml": READY, "any.yml": on("any", "issues") });
    await started.repository.waitForRuns(1);
    // From another process: locks are those of processes, and a second SQLite in this one takes the log for unused.
    const forget = `
      const database = new (require("node:sqlite").DatabaseSync)(process.argv[1], { timeout: 10_000 });
      database.exec("DELETE FROM forge_action_events");
      database.exec(require("node:fs").readFileSync(process.argv[2], "utf8"));
      database.close();
    `;
    const files = [
      join(daemon.home, "croft.db"),
      "storage/migrations/0041_forge_action_triggers.sql",
    ];
    await promisify(execFile)(process.execPath, ["-e", forget, ...files]);
    await waitForIssueRun(started, "any.yml");
  },
  60_000,
);

test("a deleted branch and a published package start workflows", async () => {
  const {
    repository,
    mira,
    seen: listRuns,
  } = await start("refs", {
    "ready.yml": on("ready", "{ push: { branches: [main] } }"),
    "deleted.yml": on("deleted", "delete"),
    "published.yml": on("published", "{ registry_package: { types: [published] } }"),
  });
  await repository.waitForRuns(1);
  await repository.work("SUCCESS");
  await git.in("refs", "push", "-q", "origin", "main:side");
  await git.in("refs", "push", "-q", "origin", ":side");
  await repository.waitForRuns(2);
  const { task } = await repository.take();
  expect(task?.context).toMatchObject({
    event_name: "delete",
    ref: "refs/heads/main",
    event: { ref: "side", ref_type: "branch", pusher_type: "user" },
  });
  const put = (version: string) =>
    daemon.request(`/api/packages/mira/generic/tool/${version}/tool.bin`, {
      method: "PUT",
      bearer: people.tokenOf("mira"),
      body: "bytes",
    });
  expect((await put("1")).status).toBe(201);
  const link = "/packages/mira/generic/tool/-/link/refs";
  expect((await people.api("POST", link, undefined, people.tokenOf("mira"))).status).toBe(201);
  expect((await put("2")).status).toBe(201);
  expect((await mira("GET", "")).status).toBe(200);
  await repository.waitForRuns(3);
  expect((await listRuns()).map(([event]) => event)).toEqual([
    "registry_package",
    "delete",
    "push",
  ]);
});

test("a run starts the workflows that follow it, and a cycle of them ends", async () => {
  const { repository, seen: listRuns } = await start("follow", {
    "ready.yml": READY,
    "after.yml": on("after", "{ workflow_run: { workflows: [ready], types: [completed] } }"),
    "other.yml": on("other", "{ workflow_run: { workflows: [else], types: [completed] } }"),
    "side.yml": on("side", "{ workflow_run: { workflows: [ready], branches: [side] } }"),
    "circle.yml": on(
      "circle",
      "{ workflow_run: { workflows: [after, circle], types: [requested] } }",
    ),
  });
  await repository.waitForRuns(1);
  expect(await repository.work("SUCCESS")).toBe("a");
  await vi.waitUntil(async () => (await repository.runs()).length >= 6, { timeout: 30_000 });
  const files = (await listRuns()).map(([event, file]) => [event, file]);
  expect(files.filter(([, file]) => file === "after.yml")).toEqual([["workflow_run", "after.yml"]]);
  expect(new Set(files.map(([, file]) => file))).toEqual(
    new Set(["ready.yml", "after.yml", "circle.yml"]),
  );
  const { task } = await repository.take();
  expect(task?.context).toMatchObject({
    event: { workflow: { name: "ready" }, workflow_run: { event: "push", conclusion: "success" } },
  });
  // Five runs that follow each other are the most: no further one has been started meanwhile.
  await repository.push({ "ready.yml": READY.replace("NAME", "follow") });
  await vi.waitUntil(async () => (await repository.runs()).some(({ run_number: n }) => n === 7), {
    timeout: 30_000,
  });
  expect((await repository.runs()).length).toBe(7);
});
