import { expect, test } from "vitest";
import { toDuration } from "../../../cli/support/wait.ts";
import { type FakeAnswer, fakeDaemon } from "./fake-daemon.ts";
import { type FakeSystem, fakeSystem, runCli, temporaryHome } from "./run-cli.ts";
import { run as runMain } from "../../../cli/main.ts";
import { signIn } from "./signed-in.ts";

/** A run of a workflow with this status and conclusion. */
function aRun(status: string, conclusion?: string): FakeAnswer {
  const body = { id: 7, status, path: "ci.yml@refs/heads/main", display_title: "x" };
  return { body: { ...body, ...(conclusion === undefined ? {} : { conclusion }) } };
}

const dispatch = "POST /api/v1/repos/ada/notes/actions/workflows/ci.yml/dispatches";
const getRun = "GET /api/v1/repos/ada/notes/actions/runs/7";
const started: FakeAnswer = { body: { workflow_run_id: 7, run_url: "", html_url: "" } };
const workflow = ["workflow", "run", "ada/notes", "ci.yml", "--ref", "main"];

async function wait(
  line: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0],
  more: Partial<Parameters<typeof runCli>[1]> = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(answers);
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const ran = await runCli(line, { home: home.path, hurried: true, ...more });
  return { ...ran, requests: daemon.requests.map(({ method, path }) => `${method} ${path}`) };
}

test.each([
  ["90", 90],
  ["90s", 90],
  ["10m", 600],
  ["2h", 7200],
  ["1h30m5s", 5405],
])("reads the duration %s", (text, seconds) => {
  expect(toDuration(text)).toBe(seconds * 1000);
});

test.each(["", "0", "soon", "1d", "-5", "5m2h", "1.5h"])("refuses the duration %j", (text) => {
  expect(() => toDuration(text)).toThrow("--timeout takes a duration");
});

test("refuses --timeout without --wait before anything is started", async () => {
  const ran = await wait([...workflow, "--timeout", "5m"], {});
  expect([ran.code, ran.requests]).toEqual([2, []]);
});

test("does not wait without --wait", async () => {
  const ran = await wait([...workflow, "--json"], { [dispatch]: started });
  expect(ran.json()).toEqual({ run: 7, conclusion: null });
});

test("waits for a run, and prints its conclusion", async () => {
  const states = [aRun("queued"), aRun("in_progress"), aRun("completed", "success")];
  const ran = await wait([...workflow, "--wait", "--json"], {
    [dispatch]: started,
    [getRun]: states,
  });
  expect(ran.json()).toEqual({ run: 7, conclusion: "success" });
  expect([ran.code, ran.err]).toEqual([0, ""]);
  expect(ran.requests.filter((line) => line === getRun)).toHaveLength(3);
});

test.each(["failure", "cancelled", "timed_out"])(
  "fails when the run ends as %s, with empty output",
  async (conclusion) => {
    const ran = await wait([...workflow, "--wait", "--json"], {
      [dispatch]: started,
      [getRun]: aRun("completed", conclusion),
    });
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.error()).toMatchObject({ code: "task_failed", reason: conclusion });
    expect(ran.error()["hint"]).toContain("croft run jobs ada/notes/7");
  },
);

test("a run that was skipped is no failure", async () => {
  const answers = { [dispatch]: started, [getRun]: aRun("completed", "skipped") };
  expect((await wait([...workflow, "--wait"], answers)).code).toBe(0);
});

test("ends with exit code 8 and the next step after the timeout", async () => {
  let now = 0;
  const ran = await wait(
    [...workflow, "--wait", "--timeout", "1m", "--json"],
    { [dispatch]: started, [getRun]: aRun("in_progress") },
    // Each reading of the clock is seven seconds later.
    { now: () => (now += 7_000) },
  );
  expect([ran.code, ran.out]).toEqual([8, ""]);
  expect(ran.error()).toMatchObject({
    code: "not_finished",
    message: "run 7 of ada/notes has not ended within 60 s (in_progress)",
    hint: 'it continues; "croft run watch ada/notes/7" shows it',
  });
});

test("shows the state on a terminal and clears it", async () => {
  const ran = await wait(
    [...workflow, "--wait"],
    { [dispatch]: started, [getRun]: [aRun("queued"), aRun("completed", "success")] },
    { terminal: { in: false, out: false, err: true } },
  );
  expect(ran.err).toContain("Waiting for run 7 of ada/notes: queued 0:0");
  expect(ran.err.endsWith("\r\u001b[2K")).toBe(true);
  expect(ran.out).toBe("run\t7\nconclusion\tsuccess\n");
});

test("reports each change of the state as an event", async () => {
  const ran = await wait([...workflow, "--wait", "--json", "--progress", "json"], {
    [dispatch]: started,
    [getRun]: [aRun("queued"), aRun("queued"), aRun("in_progress"), aRun("completed", "success")],
  });
  expect(ran.err.trim().split("\n")).toEqual([
    '{"event":"state","item":"run 7 of ada/notes","state":"queued"}',
    '{"event":"state","item":"run 7 of ada/notes","state":"in_progress"}',
  ]);
});

test("continues after a rate limit, and fails for anything else", async () => {
  const limited: FakeAnswer = { status: 429, headers: { "Retry-After": "2" }, body: {} };
  const answers = { [dispatch]: started, [getRun]: [limited, aRun("completed", "success")] };
  expect((await wait([...workflow, "--wait"], answers)).code).toBe(0);
  const gone = { [dispatch]: started, [getRun]: { status: 404, body: { message: "gone" } } };
  expect((await wait([...workflow, "--wait"], gone)).code).toBe(6);
});

test.each([502, 503, 504])(
  "continues while the daemon is away, also behind a proxy: %s",
  async (status) => {
    const away: FakeAnswer = { status, body: "croft is starting" };
    const answers = { [dispatch]: started, [getRun]: [away, away, aRun("completed", "success")] };
    expect((await wait([...workflow, "--wait"], answers)).code).toBe(0);
    let now = 0;
    const always = { [dispatch]: started, [getRun]: away };
    const ran = await wait([...workflow, "--wait", "--json"], always, {
      now: () => (now += 7_000),
    });
    expect(ran.error()).toMatchObject({ http_status: status });
  },
);

test("Ctrl-C ends the wait and reports that the run continues", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [dispatch]: started,
    [getRun]: () => {
      setTimeout(() => system.stops.send("SIGINT"), 5);
      return aRun("in_progress");
    },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const system: FakeSystem = fakeSystem({ home: home.path, env: { CROFT_URL: daemon.url } });
  expect(await runMain([...workflow, "--wait"], system)).toBe(130);
  expect(system.written.err()).toContain('continues; "croft run watch ada/notes/7" shows it.');
  expect(system.written.out()).toBe("");
});

test("a run is run again and cancelled with --wait", async () => {
  const again = await wait(["run", "rerun", "ada/notes/7", "--wait", "--json"], {
    "POST /api/v1/repos/ada/notes/actions/runs/7/rerun": { status: 201, body: {} },
    [getRun]: [aRun("queued"), aRun("completed", "failure")],
  });
  expect(again.code).toBe(1);
  const cancelled = await wait(["run", "cancel", "ada/notes/7", "--wait", "--json"], {
    "POST /api/v1/repos/ada/notes/actions/runs/7/cancel": { status: 204 },
    [getRun]: [aRun("in_progress"), aRun("completed", "cancelled")],
  });
  expect(cancelled.json()).toEqual({ run: 7, conclusion: "cancelled" });
});

test("a background job that no longer exists has succeeded, and a dead one has failed", async () => {
  const job = {
    id: 7,
    kind: "mail.send",
    description: "send a mail",
    state: "waiting",
    attempts: 1,
    last_error: null,
    document_id: null,
    item_id: null,
    run_at: "2026-11-20T09:00:00.000Z",
    created_at: "2026-11-20T09:00:00.000Z",
    updated_at: "2026-11-20T09:00:00.000Z",
  };
  const retry = { "POST /api/admin/jobs/7/retry": { body: job } };
  const line = ["job", "retry", "7", "--wait", "--json"];
  const done = await wait(line, {
    ...retry,
    "GET /api/admin/jobs/7": [
      { body: { ...job, state: "running" } },
      { status: 404, body: { detail: "Job not found" } },
    ],
  });
  expect(done.json()).toMatchObject({ id: 7, done: true });
  const dead = await wait(line, {
    ...retry,
    "GET /api/admin/jobs/7": { body: { ...job, state: "dead", last_error: "refused" } },
  });
  expect(dead.error()).toMatchObject({ code: "task_failed", message: "job 7 failed: refused" });
});

test("a document is classified with --wait", async () => {
  const id = "01a1fdff-ed3d-7ce1-8986-d032f4367fd1";
  const document = { id, status: "ready", status_reason: null, topics: ["Taxes"] };
  const line = ["vault", "document", "classify", id, "--wait", "--json"];
  const classify = {
    [`POST /api/documents/${id}/classify`]: {
      status: 202,
      body: { document_id: id, status: "processing" },
    },
  };
  const view = `GET /api/documents/${id}`;
  const ready = await wait(line, {
    ...classify,
    [view]: [{ body: { ...document, status: "processing" } }, { body: document }],
  });
  expect(ready.json()).toEqual({ document_id: id, status: "ready" });
  const failed = await wait(line, {
    ...classify,
    [view]: { body: { ...document, status: "classification_failed", status_reason: "damaged" } },
  });
  expect(failed.code).toBe(1);
  expect(failed.error()["message"]).toContain("the file is cut off or broken");
});
