import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import {
  callRunner,
  fetchTask,
  registerRunner,
  reportLog,
  type RunnerCredentials,
} from "../../support/forge/runner-client.ts";

let daemon: TestDaemon;
let git: GitClient;
let instanceToken: string;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  instanceToken = (await people.api("POST", "/admin/actions/runners/registration-token")).json
    .token;
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const get = async (path: string) => (await people.api("GET", path)).json;
const runsOf = async (name: string) =>
  (await get(`/repos/mira/${name}/actions/runs`)).workflow_runs as {
    id: number;
    [key: string]: unknown;
  }[];
const jobsOf = async (name: string, run: number) =>
  (await get(`/repos/mira/${name}/actions/runs/${run}/jobs`)).jobs as {
    id: number;
    name: string;
    status: string;
    conclusion?: string;
  }[];
const statesOf = async (name: string, run: number) =>
  Object.fromEntries(
    (await jobsOf(name, run)).map((job) => [job.name, job.conclusion ?? job.status]),
  );

/** Commits files to a repository of mira, which is created with the first push, and pushes them. */
async function push(
  name: string,
  files: Readonly<Record<string, string>>,
  { message = "change", branch = "main" } = {},
): Promise<void> {
  if ((await people.api("GET", `/repos/mira/${name}`)).status === 404) {
    await people.api("POST", "/admin/users/mira/repos", { name });
    await git.run("init", "-q", "-b", "main", name);
    const origin = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
    await git.in(name, "remote", "add", "origin", `${origin}/mira/${name}.git`);
  }
  await git.in(name, "checkout", "-q", "-B", branch);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(git.folder, name, path)), { recursive: true });
    await writeFile(join(git.folder, name, path), text);
  }
  await git.in(name, "add", ".");
  await git.in(name, "commit", "-q", "-m", message);
  expect(await git.in(name, "push", "-q", "origin", branch)).toMatchObject({ exitCode: 0 });
}

/** Pushes one workflow and waits for its run. */
async function pushWorkflow(name: string, workflow: string): Promise<number> {
  await push(name, { ".gitea/workflows/ci.yml": workflow });
  const [run] = await vi.waitUntil(
    async () => {
      const runs = await runsOf(name);
      return runs.length > 0 && runs;
    },
    { timeout: 60_000 },
  );
  return run?.id ?? 0;
}

const result = (credentials: RunnerCredentials, id: bigint | undefined, word: string, more = {}) =>
  callRunner(
    daemon,
    "UpdateTask",
    { state: { id: String(id), ...(word === "" ? {} : { result: `RESULT_${word}` }) }, ...more },
    credentials,
  );

/** The first attempt of a run has no address of an earlier one: null, which the wire document does not tell. */
const expectRun = (run: Readonly<Record<string, unknown>>) => {
  expect(run["previous_attempt_url"]).toBeNull();
  const omitted = run["conclusion"] === undefined ? ["conclusion"] : [];
  expectWireShape("ActionWorkflowRun", { ...run, previous_attempt_url: "" }, [
    "head_repository",
    ...omitted,
  ]);
};

const one = (label: string, rest = "") =>
  `name: CI\non: push\njobs:\n  a:\n    runs-on: ${label}\n    steps:\n      - run: echo one\n      - { name: Two, run: "true" }\n${rest}`;

describe("a push with a workflow", () => {
  test("a push starts a run whose job a runner takes, reports and ends", async () => {
    const run = await pushWorkflow("whole", one("whole"));
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["whole"] });
    const { task } = await fetchTask(daemon, runner);
    const payload = parse(Buffer.from(task?.workflowPayload ?? []).toString());
    expect(payload.jobs.a).toMatchObject({ "runs-on": ["whole"], steps: expect.any(Array) });
    expect(task?.context).toMatchObject({
      event_name: "push",
      ref: "refs/heads/main",
      repository: "mira/whole",
      run_id: String(run),
      job: "a",
      workflow: "CI",
      event: {
        after: expect.stringMatching(/^[0-9a-f]{40}$/),
        total_commits: 1,
        head_commit: {
          added: [".gitea/workflows/ci.yml"],
          modified: [],
          committer: { name: expect.any(String) },
        },
        commits: [{ added: [".gitea/workflows/ci.yml"], removed: [] }],
        repository: { full_name: "mira/whole", default_branch: "main", owner: { login: "mira" } },
        pusher: { login: "mira", email: expect.stringContaining("noreply") },
        sender: { login: "mira" },
      },
    });
    expect(await statesOf("whole", run)).toEqual({ a: "in_progress" });
    const reported = await callRunner(
      daemon,
      "UpdateTask",
      {
        state: {
          id: String(task?.id),
          result: "RESULT_SUCCESS",
          steps: [
            { id: 0, result: "RESULT_SUCCESS", startedAt: "2026-01-01T00:00:00Z" },
            { id: 1, result: "RESULT_FAILURE" },
          ],
        },
        outputs: { made: "yes" },
      },
      runner,
    );
    expect(reported.json).toMatchObject({
      state: { result: "RESULT_SUCCESS" },
      sentOutputs: ["made"],
    });
    const shown = await get(`/repos/mira/whole/actions/runs/${run}`);
    expectRun(shown);
    expect(shown).toMatchObject({ status: "completed", conclusion: "success", run_number: 1 });
    const [job] = await jobsOf("whole", run);
    expectWireShape("ActionWorkflowJob", job);
    expect(job).toMatchObject({
      runner_name: "r",
      steps: [
        { name: "Run echo one", conclusion: "success" },
        { name: "Two", conclusion: "failure" },
      ],
    });
    const statuses = await get(`/repos/mira/whole/commits/main/statuses`);
    expect(statuses.map((each: { status: string }) => each.status)).toEqual([
      "success",
      "pending",
      "pending",
    ]);
    expect(statuses[0].context).toBe("CI / a (push)");
    expect(statuses[0].description).toMatch(/^Successful in \d+s$/);
    const listed = await people.api("GET", "/repos/mira/whole/actions/tasks");
    expectWireShape("ActionTaskResponse", listed.json);
    expect(listed.headers.get("x-total-count")).toBe("1");
    expect(listed.json).toMatchObject({
      total_count: 1,
      workflow_runs: [
        {
          id: Number(task?.id),
          name: "a",
          head_branch: "main",
          run_number: 1,
          event: "push",
          status: "success",
          workflow_id: "ci.yml",
          url: `${daemon.url}/mira/whole/actions/runs/${run}`,
        },
      ],
    });
  });

  test("the tasks of a repository are those of all attempts, the newest first, for who may read its runs", async () => {
    const path = "/repos/mira/tasks/actions";
    const run = await pushWorkflow("tasks", one("tasks"));
    const tasks = async (query = "") => (await get(`${path}/tasks${query}`)).workflow_runs;
    // No runner has taken the job.
    expect(await tasks()).toEqual([]);
    const runner = await registerRunner(daemon, instanceToken, { name: "t", labels: ["tasks"] });
    const ids: number[] = [];
    for (const word of ["FAILURE", "SUCCESS"]) {
      const { task } = await fetchTask(daemon, runner);
      ids.push(Number(task?.id));
      await result(runner, task?.id, word);
      if (word === "FAILURE") await people.api("POST", `${path}/runs/${run}/rerun`);
    }
    expect(await tasks()).toMatchObject([
      { id: ids[1], status: "success" },
      { id: ids[0], status: "failure" },
    ]);
    expect(await tasks("?page=2&limit=1")).toMatchObject([{ id: ids[0] }]);
    await people.api("PATCH", "/repos/mira/tasks", { private: true });
    await people.newUser("nora");
    expect((await people.by("nora", "GET", `${path}/tasks`)).status).toBe(404);
  });

  test("the log of a job is stored by row despite repeated, missing and late rows", async () => {
    const run = await pushWorkflow("logs", one("logs"));
    // The case of letters does not count.
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["LOGS"] });
    const other = await registerRunner(daemon, instanceToken, { name: "o", labels: [] });
    const { task } = await fetchTask(daemon, runner);
    const rows = (...texts: string[]) =>
      texts.map((content) => ({ time: "2026-01-01T00:00:00Z", content }));
    const append = (index: number, texts: string[], noMore = false, as = runner) =>
      callRunner(
        daemon,
        "UpdateLog",
        { taskId: String(task?.id), index, rows: rows(...texts), noMore },
        as,
      );
    const ack = async (answer: ReturnType<typeof append>) =>
      Number((await answer).json.ackIndex ?? 0);
    expect(await ack(append(0, ["one", "two"]))).toBe(2);
    expect(await ack(append(0, ["one", "two"]))).toBe(2);
    expect(await ack(append(5, ["lost"], true))).toBe(2);
    expect(await ack(append(1, ["two", "three\nwith a break"]))).toBe(3);
    const [job] = await jobsOf("logs", run);
    const read = (query = "") =>
      people.api("GET", `/repos/mira/logs/actions/jobs/${job?.id}/logs${query}`);
    const at = "2026-01-01T00:00:00.000Z";
    expect((await read()).text).toBe(`${at} one\n${at} two\n${at} three\\nwith a break\n`);
    expect((await read("?from_row=1")).text).toBe(`${at} two\n${at} three\\nwith a break\n`);
    expect((await read("?from_row=1&rows=1")).text).toBe(`${at} two\n`);
    expect((await read("?from_row=3")).text).toBe("");
    expect((await append(3, ["x"], false, other)).json.message).toBe(
      "update task: invalid runner for task",
    );
    const { headers } = await read();
    expect(headers.get("content-disposition")).toBe(
      `attachment; filename="ci-a-${task?.id}.log"; filename*=UTF-8''ci-a-${task?.id}.log`,
    );
    const long = "x".repeat(20_000);
    expect(await ack(append(3, [long]))).toBe(4);
    expect((await read("?from_row=3")).text).toBe(`${at} ${long}\n`);
    const many = Array.from({ length: 25_000 }, (_, row) => `row ${row}`);
    expect(
      await reportLog(daemon, runner, { taskId: task?.id ?? 0n, index: 3n, rows: [long, ...many] }),
    ).toBe(25_004);
    expect((await read("?from_row=10003&rows=2")).text).toMatch(/ row 9999\n.* row 10000\n$/);
    expect((await read("?from_row=25003")).text).toMatch(/ row 24999\n$/);
    expect(await ack(append(25_004, ["end"], true))).toBe(25_005);
    expect(await ack(append(25_004, ["end"], true))).toBe(25_005);
    const late = await append(25_005, ["late"]);
    expect(late.status).toBe(500);
    expect(late.json).toEqual({
      code: "unknown",
      message: "rpc error: code = AlreadyExists desc = log file has been archived",
    });
  });

  test("each job is assigned to one runner only", async () => {
    const run = await pushWorkflow(
      "shared",
      "on: push\njobs: { t: { runs-on: shared, strategy: { matrix: { v: [1, 2, 3] } }, steps: [{ run: x }] } }",
    );
    const runners = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        registerRunner(daemon, instanceToken, { name: `r${index}`, labels: ["shared"] }),
      ),
    );
    const fetched = await Promise.all(runners.map((runner) => fetchTask(daemon, runner)));
    const ids = fetched.flatMap(({ task }) => (task === undefined ? [] : [task.id]));
    expect(new Set(ids).size).toBe(3);
    expect(ids).toHaveLength(3);
    expect(await statesOf("shared", run)).toEqual({
      "t (1)": "in_progress",
      "t (2)": "in_progress",
      "t (3)": "in_progress",
    });
  });

  test("jobs run after those that they need, with their outputs and results", async () => {
    const run = await pushWorkflow(
      "needs",
      `on: push
jobs:
  a: { runs-on: needs, steps: [{ run: x }] }
  b: { runs-on: needs, needs: a, steps: [{ run: x }] }
  c: { runs-on: needs, needs: a, if: failure(), steps: [{ run: x }] }
  m: { runs-on: needs, needs: a, strategy: { matrix: "\${{ fromJSON(needs.a.outputs.matrix) }}" }, steps: [{ run: x }] }`,
    );
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["needs"] });
    const first = await fetchTask(daemon, runner);
    expect(await statesOf("needs", run)).toEqual({
      a: "in_progress",
      b: "waiting",
      c: "waiting",
      m: "waiting",
    });
    await result(runner, first.task?.id, "SUCCESS", { outputs: { matrix: '{"v":[1,2]}' } });
    expect(await statesOf("needs", run)).toEqual({
      a: "success",
      b: "queued",
      c: "skipped",
      "m (1)": "queued",
      "m (2)": "queued",
    });
    const second = await fetchTask(daemon, runner);
    expect(second.task?.needs["a"]).toMatchObject({
      outputs: { matrix: '{"v":[1,2]}' },
      result: 1,
    });
  });

  test("a matrix that fails fast cancels its other jobs, and the run fails", async () => {
    const run = await pushWorkflow(
      "fast",
      "on: push\njobs: { t: { runs-on: fast, strategy: { max-parallel: 2, matrix: { v: [1, 2, 3] } }, steps: [{ run: x }] } }",
    );
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["fast"] });
    expect(await statesOf("fast", run)).toEqual({
      "t (1)": "queued",
      "t (2)": "queued",
      "t (3)": "waiting",
    });
    const { task } = await fetchTask(daemon, runner);
    await result(runner, task?.id, "FAILURE");
    expect(await statesOf("fast", run)).toEqual({
      "t (1)": "failure",
      "t (2)": "cancelled",
      "t (3)": "cancelled",
    });
    expect((await get(`/repos/mira/fast/actions/runs/${run}`)).conclusion).toBe("failure");
  });

  test("a run is cancelled, not failed, when a user cancels it after a job has failed", async () => {
    const run = await pushWorkflow(
      "halted",
      "on: push\njobs:\n  a: { runs-on: halted, steps: [{ run: x }] }\n  b: { runs-on: halted, steps: [{ run: x }] }\n",
    );
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["halted"] });
    const { task } = await fetchTask(daemon, runner);
    await result(runner, task?.id, "FAILURE");
    const path = `/repos/mira/halted/actions/runs/${run}`;
    expect((await people.api("POST", `${path}/cancel`)).status).toBe(204);
    expect(await statesOf("halted", run)).toEqual({ a: "failure", b: "cancelled" });
    expect((await get(path)).conclusion).toBe("cancelled");
  });

  test("cancelling notifies runners that support it, and ends the jobs of other runners at once", async () => {
    for (const [name, capabilities, before] of [
      ["told", ["cancelling"], "in_progress"],
      ["mute", [], "cancelled"],
    ] as const) {
      const run = await pushWorkflow(name, one(name));
      const runner = await registerRunner(
        daemon,
        instanceToken,
        { name: "r", labels: [name] },
        capabilities,
      );
      const { task } = await fetchTask(daemon, runner);
      const path = `/repos/mira/${name}/actions/runs/${run}`;
      expect((await people.api("DELETE", path)).status).toBe(400);
      expect((await people.api("POST", `${path}/cancel`)).status).toBe(204);
      expect(await statesOf(name, run)).toEqual({ a: before });
      const beat = await result(runner, task?.id, "");
      expect(beat.json.state.result).toBe("RESULT_CANCELLED");
      await result(runner, task?.id, "SUCCESS");
      expect(await statesOf(name, run)).toEqual({ a: "cancelled" });
      expect((await people.api("DELETE", path)).status).toBe(204);
      expect((await people.api("GET", path)).status).toBe(404);
    }
  });

  test("attack: values that no database stores fail their own runs, and others of the push start", async () => {
    const job = (rest: string) =>
      `on: push\njobs: { a: { runs-on: x, ${rest} steps: [{ run: x }] } }\n`;
    await push("unstorable", {
      ".gitea/workflows/1.yml": job('name: "a\\0b",'),
      ".gitea/workflows/2.yml": job("strategy: { max-parallel: 1.5, matrix: { v: [1, 2] } },"),
      ".gitea/workflows/3.yml": `run-name: "\${{ fromJSON('\\"\\\\u0000\\"') }}"\n${job("")}`,
      ".gitea/workflows/4.yml": job(
        `strategy: { matrix: "\${{ fromJSON('{\\"\\\\u0000\\":1}') }}" },`,
      ),
      ".gitea/workflows/5.yml": job("timeout-minutes: 1e300,"),
    });
    await vi.waitFor(async () => expect(await runsOf("unstorable")).toHaveLength(5), {
      timeout: 20_000,
    });
    const states = (await runsOf("unstorable")).map(({ path, status, conclusion, error }) => [
      String(path).slice(0, 5),
      conclusion ?? status,
      error,
    ]);
    expect(states.toSorted()).toEqual([
      ["1.yml", "failure", expect.stringContaining("1.yml:2: a text has a NUL character")],
      ["2.yml", "failure", expect.stringContaining("max-parallel must be a whole number")],
      ["3.yml", "failure", expect.stringContaining("run-name has a NUL character")],
      ["4.yml", "failure", expect.stringContaining("matrix.\uFFFD must be a list")],
      ["5.yml", "queued", undefined],
    ]);
  });

  test("an invalid file is shown as a failed run with its line", async () => {
    const run = await pushWorkflow("broken", "on: push\njobs:\n  a:\n    steps: [{ run: x }]\n");
    expect(await get(`/repos/mira/broken/actions/runs/${run}`)).toMatchObject({
      conclusion: "failure",
      error: "ci.yml:4: jobs.a.runs-on is missing",
    });
  });

  test("skipped commits, other branches and repositories without actions start no run", async () => {
    const file = {
      ".github/workflows/ci.yml": `on: { push: { branches: [release] } }\n${one("x").split("\n").slice(2).join("\n")}`,
    };
    await push("quiet", file);
    await push("quiet", { a: "1" }, { branch: "release", message: "release [skip ci]" });
    await people.api("PATCH", "/repos/mira/quiet", { has_actions: false });
    await push("quiet", { a: "2" }, { branch: "release" });
    expect((await people.api("GET", "/repos/mira/quiet/actions/runs")).status).toBe(404);
    await people.api("PATCH", "/repos/mira/quiet", { has_actions: true });
    await push("quiet", { a: "3" }, { branch: "release", message: "counts" });
    await vi.waitUntil(async () => (await runsOf("quiet")).length > 0, { timeout: 60_000 });
    expect((await runsOf("quiet")).map((run) => run["display_title"])).toEqual(["counts"]);
  });

  test("a second run of a concurrency group waits, and is replaced by a third", async () => {
    const workflow = one("group", "concurrency: only");
    const first = await pushWorkflow("group", workflow);
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["group"] });
    const { task } = await fetchTask(daemon, runner);
    for (const [count, text] of [
      [2, "1"],
      [3, "2"],
    ] as const) {
      await push("group", { a: text });
      await vi.waitUntil(async () => (await runsOf("group")).length === count, { timeout: 60_000 });
    }
    const states = async () =>
      (await runsOf("group")).map((run) => run["conclusion"] ?? run["status"]);
    expect(await states()).toEqual(["waiting", "cancelled", "in_progress"]);
    await result(runner, task?.id, "SUCCESS");
    expect(await states()).toEqual(["queued", "cancelled", "success"]);
    expect(await statesOf("group", first)).toEqual({ a: "success" });
  });
});

describe("a concurrency group with cancel-in-progress", () => {
  test("a concurrency group with cancel-in-progress cancels the running run, and starts the newer one at once", async () => {
    const workflow = one("swift", "concurrency: { group: only, cancel-in-progress: true }");
    const first = await pushWorkflow("swift", workflow);
    const runner = await registerRunner(daemon, instanceToken, { name: "r", labels: ["swift"] });
    const { task } = await fetchTask(daemon, runner);
    await push("swift", { a: "1" });
    await vi.waitUntil(async () => (await runsOf("swift")).length === 2, { timeout: 60_000 });
    const states = async () =>
      (await runsOf("swift")).map((run) => run["conclusion"] ?? run["status"]);
    expect(await states()).toEqual(["queued", "cancelled"]);
    expect(await statesOf("swift", first)).toEqual({ a: "cancelled" });
    expect((await result(runner, task?.id, "SUCCESS")).json.state.result).toBe("RESULT_CANCELLED");
    expect(await states()).toEqual(["queued", "cancelled"]);
  });
});

describe("the admin lists", () => {
  test("the lists of administrators filter runs and jobs", async () => {
    await pushWorkflow("listed", one("listed"));
    const runs = await get("/admin/actions/runs?status=queued&event=push&branch=main&actor=MIRA");
    for (const run of runs.workflow_runs) expectRun(run);
    const found = runs.workflow_runs.find(
      (run: { repository: { name: string } }) => run.repository.name === "listed",
    );
    expect(found).toMatchObject({ status: "queued", event: "push" });
    const bySha = await get(`/admin/actions/runs?head_sha=${found.head_sha}`);
    expect(bySha).toMatchObject({ total_count: 1, workflow_runs: [{ id: found.id }] });
    expect((await get("/admin/actions/runs?event=schedule")).total_count).toBe(0);
    const jobs = await get("/admin/actions/jobs?status=queued&sort=id&order=desc&limit=1");
    expectWireShape("ActionWorkflowJobsResponse", jobs);
    expect(jobs.jobs[0]).toMatchObject({ run_id: found.id, labels: ["listed"] });
  });
});
