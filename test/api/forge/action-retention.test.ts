import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ARTIFACT_SERVICE } from "../../../daemon/contract/api-of.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner, fetchTask, registerRunner } from "../../support/forge/runner-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

// The scheduled tasks of workflows, each started by its route.

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let daemon: TestDaemon;
let git: GitClient;
let now = Date.now();
const people = createForgePeople(() => daemon);

const options = {
  env: {
    CROFT_RATE_LIMITS: "off",
    CROFT_WORKFLOW_LOG_DAYS: "30",
    CROFT_WORKFLOW_RUN_DAYS: "60",
  },
  clock: () => now,
};

beforeAll(async () => {
  daemon = await startTestDaemon(options);
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const runTask = async (name: string) => {
  const answer = await people.api("POST", `/admin/cron/${name}`);
  expect(answer.status).toBe(204);
};

/** Stops the daemon for a time. */
async function restart(ms: number) {
  const { home } = daemon;
  await daemon.stop();
  now += ms;
  daemon = await startTestDaemon({ ...options, home });
}

const repositoryOf = (name: string) =>
  createWorkflowRepository({ daemon, people, git }, "mira", name);

async function newRepository(name: string, job = "") {
  const repository = repositoryOf(name);
  await repository.create();
  const workflow = `on: push\njobs: { a: { runs-on: ${name}, steps: [{ run: x }, { run: y }] ${job} } }\n`;
  await repository.push({ "ci.yml": workflow });
  return { repository, run: await repository.waitForRuns(1) };
}

test("the tasks of workflows are listed", async () => {
  const answer = await people.api("GET", "/admin/cron?limit=50");
  const names = answer.json.map(({ name }: { name: string }) => name);
  for (const name of [
    "stop_zombie_tasks",
    "stop_endless_tasks",
    "cancel_abandoned_jobs",
    "start_schedule_tasks",
    "cleanup_actions",
  ])
    expect(names).toContain(name);
});

describe("a task of workflows", () => {
  test("stop_zombie_tasks fails the job of a runner that stops reporting, but not because the machine slept", async () => {
    const { repository, run } = await newRepository("zombie");
    await repository.take();
    await runTask("stop_zombie_tasks");
    expect(await repository.statesOf(run.id)).toEqual({ a: "in_progress" });
    now += 11 * MINUTE;
    await runTask("stop_zombie_tasks");
    expect(await repository.statesOf(run.id)).toEqual({ a: "in_progress" });
    now += 5 * MINUTE;
    await runTask("stop_zombie_tasks");
    expect(await repository.statesOf(run.id)).toEqual({ a: "failure" });
  });

  test("stop_zombie_tasks spares the job of a runner that could not report while the daemon was stopped", async () => {
    const { repository, run } = await newRepository("restarted");
    await repository.take();
    await restart(11 * MINUTE);
    const states = () => repositoryOf("restarted").statesOf(run.id);
    await runTask("stop_zombie_tasks");
    expect(await states()).toEqual({ a: "in_progress" });
    now += 5 * MINUTE;
    await runTask("stop_zombie_tasks");
    expect(await states()).toEqual({ a: "failure" });
  });

  test("stop_endless_tasks cancels a job that runs longer than its limit", async () => {
    const { repository, run } = await newRepository("endless", ", timeout-minutes: 5");
    await repository.take();
    await runTask("stop_endless_tasks");
    expect(await repository.statesOf(run.id)).toEqual({ a: "in_progress" });
    now += 6 * MINUTE;
    await runTask("stop_endless_tasks");
    expect(await repository.statesOf(run.id)).toEqual({ a: "cancelled" });
  });

  test("cancel_abandoned_jobs cancels a job that no runner takes within a day", async () => {
    const { repository, run } = await newRepository("abandoned");
    now += DAY - MINUTE;
    await runTask("cancel_abandoned_jobs");
    expect(await repository.statesOf(run.id)).toEqual({ a: "queued" });
    now += 2 * MINUTE;
    await runTask("cancel_abandoned_jobs");
    expect(await repository.statesOf(run.id)).toEqual({ a: "cancelled" });
  });

  test("cleanup_actions expires artifacts, then logs, then runs, and deletes unfinished uploads", async () => {
    const { repository, run } = await newRepository("kept");
    const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
    const labels = { name: "once", labels: ["kept"], ephemeral: true };
    const runner = await registerRunner(daemon, json.token, labels);
    const { task } = await fetchTask(daemon, runner);
    const bearer = task?.context?.["gitea_runtime_token"] as string;
    const call = (method: string, fields: object) =>
      daemon.request(`${ARTIFACT_SERVICE}/${method}`, {
        bearer,
        json: { workflow_run_backend_id: "", workflow_job_run_backend_id: "", ...fields },
      });
    const begin = async (name: string, days: number) => {
      const expires = new Date(now + days * DAY).toISOString();
      const created = await call("CreateArtifact", { name, expires_at: expires });
      const address = new URL(created.json.signed_upload_url);
      const path = `${address.pathname}${address.search}`;
      await daemon.request(path, { method: "PUT", body: `bytes of ${name}` });
    };
    await begin("short", 5);
    await call("FinalizeArtifact", { name: "short", size: 14 });
    await begin("long", 9_999);
    await call("FinalizeArtifact", { name: "long", size: 13 });
    await begin("unfinished", 5);
    const id = String(task?.id);
    const rows = [{ time: "2026-01-01T00:00:00Z", content: "kept for a while" }];
    await callRunner(daemon, "UpdateLog", { taskId: id, index: 0, rows, noMore: true }, runner);
    const steps = [{ id: "0", result: "RESULT_SUCCESS", logIndex: "0", logLength: "1" }];
    const state = { id, result: "RESULT_SUCCESS", steps };
    await callRunner(daemon, "UpdateTask", { state }, runner);
    const artifacts = async () => (await repository.get("/artifacts")).artifacts;
    const objects = async () => (await daemon.listObjects()).length;
    const [job] = await repository.jobs(run.id);
    const log = () => people.api("GET", `${repository.api}/jobs/${job?.id}/logs`);
    expect(await artifacts()).toMatchObject([
      { name: "short", expires_at: expect.stringMatching(toDay(now + 5 * DAY)) },
      { name: "long", expires_at: expect.stringMatching(toDay(now + 90 * DAY)) },
    ]);
    expect(await objects()).toBe(3);

    now += 6 * DAY;
    await runTask("cleanup_actions");
    const [short, long] = await artifacts();
    expect([short.expired, long.expired]).toEqual([true, false]);
    const zip = await people.api("GET", `${repository.api}/artifacts/${short.id}/zip`);
    expect([zip.status, zip.json.message]).toEqual([404, "Artifact has expired"]);
    await runTask("cleanup_packages");
    // The jump of the clock may have started the task already, and then the route does not wait for it.
    await expect.poll(objects).toBe(1);
    expect((await log()).text).toContain("kept for a while");
    expect((await repository.get(`/jobs/${job?.id}`)).steps[0]).toMatchObject({
      log_index: 0,
      log_length: 1,
    });

    now += 25 * DAY;
    await runTask("cleanup_actions");
    expect([(await log()).status, (await log()).json.message]).toEqual([
      404,
      "the log of this job has expired",
    ]);
    expect((await repository.runs()).map((each) => each.id)).toEqual([run.id]);

    now += 30 * DAY;
    await runTask("cleanup_actions");
    expect(await repository.runs()).toEqual([]);
    expect(await artifacts()).toEqual([]);
    await runTask("cleanup_packages");
    await expect.poll(objects).toBe(0);
    // Logs and runs are deleted once, and a second call changes nothing.
    await runTask("cleanup_actions");
  });
});

const toDay = (at: number) => new RegExp(`^${new Date(at).toISOString().slice(0, 10)}`);
