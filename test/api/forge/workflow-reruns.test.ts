import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner } from "../../support/forge/runner-client.ts";
import {
  createWorkflowRepository,
  type WorkflowRepository,
} from "../../support/forge/workflow-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
let ahead = 0;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_RATE_LIMITS: "off" },
    clock: () => Date.now() + ahead,
  });
  git = await createGitClient();
  for (const user of ["mira", "noah"]) await people.newUser(user);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function newRepository(name: string): Promise<WorkflowRepository> {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
  await repository.create();
  return repository;
}

const job = (label: string, rest = "") => `{ runs-on: ${label}, steps: [{ run: x }]${rest} }`;
const runTask = (name: string) => people.api("POST", `/admin/cron/${name}`);

describe("a run that has ended", () => {
  test("a rerun runs all jobs again, and keeps the earlier attempt with its log", async () => {
    const repository = await newRepository("again");
    await repository.push({ "ci.yml": `on: push\njobs: { a: ${job("again")} }\n` });
    const { id } = await repository.waitForRuns(1);
    const rerun = (user = "mira") => people.by(user, "POST", `${repository.api}/runs/${id}/rerun`);
    expect((await rerun()).status).toBe(400);
    expect(await repository.work("SUCCESS")).toBe("a");
    expect((await rerun("noah")).status).toBe(403);
    const again = await rerun();
    expect([again.status, again.json.run_attempt, again.json.status]).toEqual([201, 2, "queued"]);
    expect(again.json.trigger_actor.login).toBe("mira");
    expect(again.json.previous_attempt_url).toMatch(/\/attempts\/1$/);
    const [former] = await repository.jobs(id, 1);
    expect(former).toMatchObject({ conclusion: "success", run_attempt: 1 });
    const log = await people.api("GET", `${repository.api}/jobs/${former?.id}/logs`);
    expect(log.text).toContain("log of task");
    expect(await repository.get(`/runs/${id}/attempts/1`)).toMatchObject({
      status: "completed",
      conclusion: "success",
      run_attempt: 1,
    });
    expect(await repository.work("FAILURE")).toBe("a");
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "failure" });
    for (const attempt of [0, 3])
      expect(
        (await people.api("GET", `${repository.api}/runs/${id}/attempts/${attempt}`)).status,
      ).toBe(404);

    const tasksOf = (query = "") => people.api("GET", `${repository.api}/tasks${query}`);
    const all = await tasksOf();
    expectWireShape("ActionTaskResponse", all.json);
    expect([all.json.total_count, all.headers.get("x-total-count")]).toEqual([2, "2"]);
    expect(all.json.workflow_runs.map(({ status }: { status: string }) => status)).toEqual([
      "failure",
      "success",
    ]);
    const run = await repository.get(`/runs/${id}`);
    expect(all.json.workflow_runs[1]).toMatchObject({
      name: "a",
      head_branch: "main",
      head_sha: run["head_sha"],
      run_number: run["run_number"],
      event: "push",
      display_title: run["display_title"],
      workflow_id: "ci.yml",
      url: run["html_url"],
    });
    const second = await tasksOf("?page=2&limit=1");
    expect(second.json).toEqual({ workflow_runs: [all.json.workflow_runs[1]], total_count: 2 });
    const anonymous = () => daemon.request(`/api/v1${repository.api}/tasks`);
    expect((await anonymous()).status).toBe(200);
    await people.by("mira", "PATCH", "/repos/mira/again", { private: true });
    expect((await anonymous()).status).toBe(404);
    expect((await people.by("noah", "GET", `${repository.api}/tasks`)).status).toBe(404);
    expect((await people.by("mira", "GET", `${repository.api}/tasks`)).json.total_count).toBe(2);
  });

  test("a rerun of failed jobs includes those that need them, and the others keep outputs and log", async () => {
    const repository = await newRepository("failed");
    await repository.push({
      "ci.yml": `on: push
jobs:
  good: ${job("failed")}
  bad: ${job("failed", ", needs: good")}
  last: { runs-on: failed, needs: [good, bad], name: "\${{ needs.good.outputs.made }}", steps: [{ run: x }] }
`,
    });
    const { id, head_sha: sha } = await repository.waitForRuns(1);
    const statuses = await people.api("GET", `/repos/mira/failed/commits/${String(sha)}/statuses`);
    const shown = statuses.json.map(({ context, description }: Record<string, string>) => [
      context,
      description,
    ]);
    // The name of the last job has an expression.
    expect(Object.fromEntries(shown)).toEqual({
      "ci.yml / good (push)": "Waiting to run",
      "ci.yml / bad (push)": "Blocked by required conditions",
    });
    expect(await repository.work("SUCCESS", { made: "cake" })).toBe("good");
    expect(await repository.work("FAILURE")).toBe("bad");
    expect(await repository.statesOf(id)).toEqual({
      good: "success",
      bad: "failure",
      last: "skipped",
    });
    const path = `${repository.api}/runs/${id}`;
    expect((await people.by("mira", "POST", `${path}/rerun-failed-jobs`)).status).toBe(201);
    expect(await repository.statesOf(id)).toEqual({
      good: "success",
      bad: "queued",
      last: "waiting",
    });
    expect(await repository.work("SUCCESS")).toBe("bad");
    expect(await repository.work("SUCCESS")).toBe("last");
    expect(await repository.statesOf(id)).toMatchObject({ good: "success", cake: "success" });
    const good = (await repository.jobs(id)).find(({ name }) => name === "good");
    expect((await people.api("GET", `${repository.api}/jobs/${good?.id}/logs`)).text).toContain(
      "log of task",
    );
    expect((await people.by("mira", "POST", `${path}/rerun-failed-jobs`)).status).toBe(400);
    const bad = (await repository.jobs(id)).find(({ name }) => name === "bad");
    const one = await people.by("mira", "POST", `${path}/jobs/${bad?.id}/rerun`);
    expect(one.status).toBe(201);
    const [bad3] = (await repository.jobs(id)).filter(({ name }) => name === "bad");
    expect(one.json).toMatchObject({ id: bad3?.id, name: "bad", run_attempt: 3, status: "queued" });
    expect(await repository.statesOf(id)).toMatchObject({ good: "success", bad: "queued" });
    expect((await people.by("mira", "POST", `${path}/jobs/${bad?.id}/rerun`)).status).toBe(404);
  });
});

describe("workflow_dispatch", () => {
  const file = `name: Deploy
on:
  workflow_dispatch:
    inputs:
      area: { type: choice, options: [north, south], required: true }
      dry: { type: boolean, default: true }
      count: { type: number, default: 2 }
      note: { default: none }
run-name: "to \${{ inputs.area }} \${{ inputs.dry && 'dry' }}"
jobs: { a: ${job("dispatch")} }
`;

  test("workflow_dispatch starts a run with validated inputs, from the file at a branch or tag", async () => {
    const repository = await newRepository("dispatch");
    await repository.push({
      "deploy.yml": file,
      "other.yml": `on: push\njobs: { a: ${job("x")} }`,
    });
    await git.in("dispatch", "tag", "v1");
    await git.in("dispatch", "push", "-q", "origin", "v1");
    await repository.waitForRuns(1);
    const dispatch = (body: object, workflow = "deploy.yml", query = "", user = "mira") =>
      people.by(user, "POST", `${repository.api}/workflows/${workflow}/dispatches${query}`, body);
    const listed = await repository.get("/workflows");
    expect(listed.workflows).toMatchObject([
      { id: "deploy.yml", name: "Deploy", state: "active", path: ".gitea/workflows/deploy.yml" },
      { id: "other.yml", name: "other.yml" },
    ]);
    const inputs = { area: "north" };
    for (const [body, status] of [
      [{ ref: "main", inputs: {} }, 422],
      [{ ref: "main", inputs: { area: "west" } }, 422],
      [{ ref: "main", inputs: { ...inputs, odd: "x" } }, 422],
      [{ ref: "main", inputs: { ...inputs, dry: "maybe" } }, 422],
      [{ ref: "main", inputs: { ...inputs, count: "many" } }, 422],
      [{ inputs }, 422],
      [{ ref: "nowhere", inputs }, 404],
      [{ ref: "main", inputs }, 204],
    ] as const)
      expect((await dispatch(body)).status, JSON.stringify(body)).toBe(status);
    expect((await dispatch({ ref: "main" }, "other.yml")).status).toBe(422);
    expect((await dispatch({ ref: "main" }, "missing.yml")).status).toBe(404);
    expect((await dispatch({ ref: "main", inputs }, "deploy.yml", "", "noah")).status).toBe(403);
    const detailed = await dispatch(
      { ref: "refs/tags/v1", inputs: { ...inputs, dry: "false" } },
      "deploy.yml",
      "?return_run_details=true",
    );
    expect(detailed.status).toBe(200);
    const run = await repository.get(`/runs/${detailed.json.workflow_run_id}`);
    expect(run).toMatchObject({
      event: "workflow_dispatch",
      display_title: "to north false",
      path: "deploy.yml@refs/tags/v1",
    });
    const { task } = await repository.take();
    expect(task?.context).toMatchObject({
      event: { inputs: { area: "north", dry: "true", count: "2", note: "none" } },
    });
    // Runners convert the texts to these types for the `inputs` context.
    expect(JSON.parse(Buffer.from(task?.workflowPayload ?? []).toString()).on).toEqual({
      workflow_dispatch: {
        inputs: {
          area: { type: "choice" },
          dry: { type: "boolean" },
          count: { type: "number" },
          note: {},
        },
      },
    });
    // A branch with the name of the tag leads elsewhere.
    await git.in("dispatch", "commit", "-q", "--allow-empty", "-m", "second");
    await git.in("dispatch", "push", "-q", "origin", "HEAD:refs/heads/v1");
    for (const [ref, full, commit] of [
      ["refs/tags/v1", "refs/tags/v1", "HEAD~1"],
      ["refs/heads/v1", "refs/heads/v1", "HEAD"],
      ["v1", "refs/heads/v1", "HEAD"],
    ] as const) {
      const { json } = await dispatch({ ref, inputs }, "deploy.yml", "?return_run_details=true");
      const { output } = await git.in("dispatch", "rev-parse", commit);
      expect(await repository.get(`/runs/${json.workflow_run_id}`)).toMatchObject({
        path: `deploy.yml@${full}`,
        head_sha: output.trim(),
      });
    }
    const ofFile = await repository.get("/workflows/deploy.yml/runs");
    expect(ofFile.total_count).toBe(5);
  });

  test("a disabled workflow is started neither by workflow_dispatch nor by pushes", async () => {
    const repository = await newRepository("off");
    const both = file.replace("on:\n", "on:\n  push:\n");
    await repository.push({ "deploy.yml": both });
    await repository.waitForRuns(1);
    const change = (verb: string, user = "mira") =>
      people.by(user, "PUT", `${repository.api}/workflows/deploy.yml/${verb}`);
    expect((await change("disable", "noah")).status).toBe(403);
    expect((await change("disable")).status).toBe(204);
    expect(await repository.get("/workflows/deploy.yml")).toMatchObject({
      state: "disabled_manually",
    });
    const dispatched = await people.by(
      "mira",
      "POST",
      `${repository.api}/workflows/deploy.yml/dispatches`,
      { ref: "main", inputs: { area: "north" } },
    );
    expect(dispatched.status).toBe(403);
    await repository.push({ "b.yml": `on: push\njobs: { a: ${job("x")} }` });
    expect(await repository.waitForRuns(2)).toMatchObject({ path: "b.yml@refs/heads/main" });
    expect(await repository.runs()).toHaveLength(2);
    expect((await change("enable")).status).toBe(204);
    await repository.push({}, "third");
    await repository.waitForRuns(4);
  });
});

describe("jobs of one concurrency group", () => {
  const grouped = (cancels: boolean) => `on: push
jobs:
  a:
    runs-on: ${cancels ? "cancels" : "waits"}
    concurrency: { group: "g-\${{ github.ref_name }}", cancel-in-progress: ${cancels} }
    steps: [{ run: x }]
`;

  test("jobs of a concurrency group run one at a time, and a newer one replaces a waiting one", async () => {
    const repository = await newRepository("waits");
    await repository.push({ "ci.yml": grouped(false) });
    const first = await repository.waitForRuns(1);
    const { runner, task } = await repository.take();
    await repository.push({}, "second");
    const second = await repository.waitForRuns(2);
    expect(await repository.statesOf(second.id)).toEqual({ a: "waiting" });
    await repository.push({}, "third");
    const third = await repository.waitForRuns(3);
    expect(await repository.statesOf(second.id)).toEqual({ a: "cancelled" });
    expect(await repository.statesOf(third.id)).toEqual({ a: "waiting" });
    const state = { id: String(task?.id), result: "RESULT_SUCCESS" };
    await callRunner(daemon, "UpdateTask", { state }, runner);
    expect(await repository.statesOf(first.id)).toEqual({ a: "success" });
    expect(await repository.statesOf(third.id)).toEqual({ a: "queued" });
  });

  test("jobs of a concurrency group are cancelled by a newer one with cancel-in-progress", async () => {
    const repository = await newRepository("cancels");
    await repository.push({ "ci.yml": grouped(true) });
    const first = await repository.waitForRuns(1);
    await repository.take();
    await repository.push({}, "second");
    const second = await repository.waitForRuns(2);
    expect(await repository.statesOf(first.id)).toEqual({ a: "cancelled" });
    expect(await repository.statesOf(second.id)).toEqual({ a: "queued" });
  });
});

describe("by the clock", () => {
  test("an overdue schedule starts once, from the current file", async () => {
    const repository = await newRepository("clockwork");
    const timed = (minutes: string) =>
      `on: { schedule: [{ cron: "${minutes} * * * *" }] }\njobs: { a: ${job("x")} }\n`;
    await repository.push({
      "timed.yml": timed("7"),
      "other.yml": `on: push\njobs: { a: ${job("x")} }`,
    });
    await repository.waitForRuns(1);
    await runTask("start_schedule_tasks");
    expect(await repository.runs()).toHaveLength(1);
    ahead += 5 * 3_600_000;
    await runTask("start_schedule_tasks");
    await runTask("start_schedule_tasks");
    const [newest, ...others] = await repository.runs();
    expect(newest).toMatchObject({ event: "schedule", path: "timed.yml@refs/heads/main" });
    expect(others).toHaveLength(1);
    await repository.push({ "timed.yml": `on: push\njobs: { a: ${job("x")} }` });
    await repository.waitForRuns(4);
    ahead += 3_600_000;
    await runTask("start_schedule_tasks");
    expect(await repository.runs()).toHaveLength(4);
  });

  test("a schedule whose next time a clock that was a year ahead has set comes back with the clock", async () => {
    const repository = await newRepository("set-back");
    ahead += 365 * 86_400_000;
    const timed = `on: { schedule: [{ cron: "11 * * * *" }] }\njobs: { a: ${job("x")} }\n`;
    await repository.push({
      "timed.yml": timed,
      "other.yml": `on: push\njobs: { a: ${job("x")} }`,
    });
    await repository.waitForRuns(1);
    await runTask("start_schedule_tasks");
    ahead -= 365 * 86_400_000;
    await runTask("start_schedule_tasks");
    expect(await repository.runs()).toHaveLength(1);
    ahead += 3_600_000;
    await runTask("start_schedule_tasks");
    await runTask("start_schedule_tasks");
    const runs = await repository.runs();
    expect(runs.map(({ event }) => event)).toEqual(["schedule", "push"]);
  });

  test("a job is ended after its timeout-minutes, and after a day without a runner", async () => {
    const repository = await newRepository("slow");
    await repository.push({
      "ci.yml": `on: push\njobs: { a: ${job("slow", ", timeout-minutes: 5")}, b: ${job("nowhere")} }\n`,
    });
    const { id } = await repository.waitForRuns(1);
    const { runner, task } = await repository.take();
    await runTask("stop_endless_tasks");
    expect(await repository.statesOf(id)).toEqual({ a: "in_progress", b: "queued" });
    ahead += 6 * 60_000;
    await runTask("stop_endless_tasks");
    expect(await repository.statesOf(id)).toEqual({ a: "cancelled", b: "queued" });
    const late = { state: { id: String(task?.id), result: "RESULT_SUCCESS" } };
    const answer = await callRunner(daemon, "UpdateTask", late, runner);
    expect(answer.json).toMatchObject({ state: { result: "RESULT_CANCELLED" } });
    ahead += 25 * 3_600_000;
    await runTask("cancel_abandoned_jobs");
    expect(await repository.statesOf(id)).toEqual({ a: "cancelled", b: "cancelled" });
    expect(await repository.get(`/runs/${id}`)).toMatchObject({ conclusion: "cancelled" });
  });
});
