import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner } from "../../support/forge/runner-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Creates a repository of mira's whose hook sends these events to a path of its own. */
async function newHooked(name: string, events: readonly string[]) {
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
  await repository.create();
  const made = await people.by("mira", "POST", `/repos/mira/${name}/hooks`, {
    type: "gitea",
    config: { url: `${receiver.url}/${name}`, content_type: "json" },
    events,
    active: true,
  });
  expect(made.status).toBe(201);
  const log = `/repos/mira/${name}/hooks/${made.json.id}/deliveries?limit=50`;
  /** Waits until exactly `count` deliveries have been made. */
  const sent = async (count: number) => {
    expect((await people.by("mira", "GET", log)).json).toHaveLength(count);
    return deliveriesTo(`/${name}`, count);
  };
  return { ...repository, sent };
}

async function deliveriesTo(address: string, count: number) {
  const all = await receiver.waitFor(count, ({ path }) => path === address);
  return all.map(({ headers, body }) => ({
    event: headers["x-gitea-event"],
    headers,
    json: JSON.parse(body),
  }));
}

type Delivery = Awaited<ReturnType<typeof deliveriesTo>>[number];

const ofRun = ({ json }: Delivery) =>
  [json.action, json.workflow_run.run_attempt, json.workflow_run.conclusion].join(" ").trim();
const ofJob = ({ json }: Delivery) =>
  [json.workflow_job.name, json.action, json.workflow_job.conclusion].join(" ").trim();

const jobs = (label: string, rest: string) =>
  `name: CI\non: push\njobs:\n  a:\n    runs-on: ${label}\n    steps: [{ run: "true" }]\n${rest}`;

describe("hooks of workflow_run", () => {
  test("hooks of workflow_run receive once that an attempt is requested, in progress and completed", async () => {
    const { push, waitForRuns, work, api, sent } = await newHooked("runs", ["workflow_run"]);
    await push({
      "ci.yml": jobs("runs", '  b: { runs-on: runs, needs: a, steps: [{ run: "true" }] }\n'),
    });
    const { id } = await waitForRuns(1);
    await work("SUCCESS");
    await work("FAILURE");
    await people.by("mira", "POST", `${api}/runs/${id}/rerun-failed-jobs`);
    await work("SUCCESS");
    const deliveries = await sent(6);
    expect(deliveries.map(ofRun).toSorted()).toEqual(
      [
        "requested 1",
        "in_progress 1",
        "completed 1 failure",
        "requested 2",
        "in_progress 2",
        "completed 2 success",
      ].toSorted(),
    );
    const { event, json } = deliveries.find((each) => ofRun(each) === "requested 1") ?? {};
    expect(event).toBe("workflow_run");
    expectWireShape("ActionWorkflowRun", { ...json.workflow_run, previous_attempt_url: "" }, [
      "head_repository",
      "conclusion",
    ]);
    expect(json).toMatchObject({
      workflow: { id: "ci.yml", name: "CI", path: ".gitea/workflows/ci.yml", state: "active" },
      workflow_run: { id, event: "push", repository: { permissions: { admin: false } } },
      repository: { full_name: "mira/runs", permissions: { admin: true } },
      sender: { login: "mira" },
    });
    expect(json).not.toHaveProperty("organization");
    expect(JSON.stringify(json)).not.toContain("@example.org");
  });

  test("hooks of workflow_run receive an invalid file as a failed run", async () => {
    const { push, waitForRuns, sent } = await newHooked("invalid", [
      "workflow_run",
      "workflow_job",
    ]);
    await push({ "ci.yml": "on: push\njobs: 3\n" });
    await waitForRuns(1);
    const [delivery] = await sent(1);
    expect(delivery?.json).toMatchObject({
      action: "completed",
      workflow: { name: "ci.yml" },
      workflow_run: { conclusion: "failure", error: expect.stringContaining("ci.yml:2:") },
    });
  });

  test("events of workflow_run are sent to system hooks, and name the organization of the repository", async () => {
    await people.api("POST", "/admin/users/mira/orgs", { username: "harbour" });
    const { json: hook } = await people.api("POST", "/admin/hooks", {
      type: "gitea",
      config: { url: `${receiver.url}/system`, content_type: "json", is_system_webhook: "true" },
      events: ["workflow_run"],
      active: true,
    });
    const repository = createWorkflowRepository({ daemon, people, git }, "mira", "dock");
    await people.api("POST", "/orgs/harbour/repos", { name: "dock" });
    await git.run("init", "-q", "-b", "main", "dock");
    const origin = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    await git.in("dock", "remote", "add", "origin", `${origin}/harbour/dock.git`);
    await repository.push({ "ci.yml": "on: push\njobs: {}\n" });
    const [delivery] = await deliveriesTo("/system", 1);
    await people.api("DELETE", `/admin/hooks/${hook.id}`);
    expect(delivery?.json).toMatchObject({
      action: "completed",
      organization: { username: "harbour" },
      repository: { full_name: "harbour/dock" },
    });
  });
});

describe("hostile names", () => {
  test("hostile names are exact in the payloads of runs and jobs, and never in a header", async () => {
    const events = ["workflow_run", "workflow_job"];
    const { waitForRuns, take, sent } = await newHooked("names", events);
    const evil = `\r\nX-Evil: 1\u001b[31m\u202e<img src=x onerror="alert(1)">'\\${"é".repeat(100)}`;
    // Git refuses control characters in the names of branches.
    const branch = `a'<b>"&\u202e${"é".repeat(90)}`;
    const step = { name: `step${evil}`, run: "true" };
    const job = { name: `job${evil}`, "runs-on": "names", steps: [step] };
    const workflow = { name: `flow${evil}`, on: "push", jobs: { a: job } };
    await git.in("names", "checkout", "-q", "-b", branch);
    const folder = join(git.folder, "names/.gitea/workflows");
    await mkdir(folder, { recursive: true });
    // JSON is YAML.
    await writeFile(join(folder, "ci.yml"), JSON.stringify(workflow));
    await git.in("names", "add", ".");
    await git.in("names", "commit", "-q", "-m", "change");
    expect(await git.in("names", "push", "-q", "origin", branch)).toMatchObject({ exitCode: 0 });
    await waitForRuns(1);
    await take();
    const deliveries = await sent(4);
    const of = (name: string) => deliveries.filter(({ event }) => event === name);
    expect(of("workflow_run")).toHaveLength(2);
    for (const { json } of of("workflow_run"))
      expect(json).toMatchObject({
        workflow: { name: workflow.name },
        workflow_run: { head_branch: branch },
      });
    for (const { json } of of("workflow_job"))
      expect(json.workflow_job).toMatchObject({ name: job.name, head_branch: branch });
    const started = of("workflow_job").find(({ json }) => json.action === "in_progress");
    expect(started?.json.workflow_job.steps).toMatchObject([{ name: step.name }]);
    for (const { headers } of deliveries) {
      expect(headers).not.toHaveProperty("x-evil");
      for (const value of Object.values(headers)) expect(String(value)).toMatch(/^[ -~]*$/);
    }
  });
});

describe("hooks of workflow_job", () => {
  test("hooks of workflow_job receive each state of a job once, with runner and steps", async () => {
    const { push, waitForRuns, work, sent } = await newHooked("jobs", ["workflow_job"]);
    await push({
      "ci.yml": jobs("jobs", '  b: { runs-on: jobs, needs: a, steps: [{ run: "true" }] }\n'),
    });
    const { id } = await waitForRuns(1);
    await work("SUCCESS");
    await work("FAILURE");
    const deliveries = await sent(7);
    expect(deliveries.map(ofJob).toSorted()).toEqual(
      [
        "a queued",
        "a in_progress",
        "a completed success",
        "b waiting",
        "b queued",
        "b in_progress",
        "b completed failure",
      ].toSorted(),
    );
    const find = (words: string) => deliveries.find((each) => ofJob(each) === words)?.json;
    expect(find("a queued")).toMatchObject({
      workflow_job: { run_id: id, labels: ["jobs"], steps: [], runner_id: 0 },
      repository: { full_name: "mira/jobs" },
      sender: { login: "mira" },
    });
    expect(find("a in_progress").workflow_job).toMatchObject({
      runner_name: "jobs",
      steps: [{ name: "Run true", status: "queued" }],
    });
    const { workflow_job: ended } = find("a completed success");
    expectWireShape("ActionWorkflowJob", ended);
    expect(Date.parse(ended.completed_at)).toBeGreaterThanOrEqual(Date.parse(ended.started_at));
    expect(ended.started_at).not.toBe("1970-01-01T00:00:00Z");
  });

  test("hooks of workflow_job receive waiting jobs of a matrix, and skipped jobs", async () => {
    const { push, waitForRuns, work, sent } = await newHooked("matrix", ["workflow_job"]);
    const matrix = "    strategy: { max-parallel: 1, matrix: { n: [1, 2] } }\n";
    const rest = "  c: { if: false, runs-on: matrix, steps: [{ run: x }] }\n";
    await push({ "ci.yml": jobs("matrix", rest).replace("    steps", `${matrix}    steps`) });
    await waitForRuns(1);
    expect((await sent(3)).map(ofJob).toSorted()).toEqual([
      "a (1) queued",
      "a (2) waiting",
      "c completed skipped",
    ]);
    await work("SUCCESS");
    const all = (await sent(6)).map(ofJob);
    expect(all.slice(3).toSorted()).toEqual([
      "a (1) completed success",
      "a (1) in_progress",
      "a (2) queued",
    ]);
  });

  test("hooks of workflow_job do not repeat that a job is in progress while its runner cancels it", async () => {
    const { push, waitForRuns, take, api, sent } = await newHooked("cancelled", ["workflow_job"]);
    await push({ "ci.yml": jobs("cancelled", "") });
    const { id } = await waitForRuns(1);
    const { runner, task } = await take();
    await callRunner(
      daemon,
      "Declare",
      { version: "test", labels: ["cancelled"], capabilities: ["cancelling"] },
      runner,
    );
    await people.by("mira", "POST", `${api}/runs/${id}/cancel`);
    const state = { id: String(task?.id), result: "RESULT_CANCELLED" };
    await callRunner(daemon, "UpdateTask", { state }, runner);
    expect((await sent(3)).map(ofJob).toSorted()).toEqual([
      "a completed cancelled",
      "a in_progress",
      "a queued",
    ]);
  });
});
