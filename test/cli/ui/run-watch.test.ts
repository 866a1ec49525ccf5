import { expect, test } from "vitest";
import { createRunWatch } from "../../../cli/ui/run/run-watch.ts";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../support/fake-daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";
import { type FakeTerminal, type InTerminal, keys, runInTerminal } from "../support/terminal.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const at = (seconds: number) => new Date(now - seconds * 1_000).toISOString();

type Outcome = "success" | "failure" | "cancelled" | "in_progress" | "queued";
const outcome = (state: Outcome) =>
  state === "in_progress" || state === "queued"
    ? { status: state, completed_at: null }
    : { status: "completed", conclusion: state, completed_at: at(10) };

const step = (number: number, name: string, state: Outcome) => ({
  name,
  number,
  ...outcome(state),
  started_at: at(70),
});

const notFound: FakeAnswer = { status: 404, body: { message: "Not found." } };

/** A forge with one run of two jobs, whose state a test changes. */
function forge(state: { run: Outcome; log: string }) {
  const run = () => ({
    id: 7,
    run_number: 3,
    display_title: "Water the garden",
    path: "ci.yml@refs/heads/main",
    event: "push",
    head_sha: "0123456789abcdef",
    head_branch: "main",
    actor: { login: "mira" },
    ...outcome(state.run),
    started_at: at(90),
  });
  const jobs = () => [
    {
      id: 11,
      name: "build",
      labels: ["host"],
      runner_name: "r",
      ...outcome(state.run),
      started_at: at(90),
      steps: [step(0, "Run make", "success"), step(1, "Run test", state.run)],
    },
    { id: 12, name: "deploy", labels: ["host"], ...outcome("queued"), started_at: null, steps: [] },
  ];
  const answers: Record<string, (request: RecordedRequest) => FakeAnswer> = {
    "GET /api/v1/repos/mira/garden/actions/runs": () => ({
      body: { workflow_runs: [run()], total_count: 1 },
    }),
    "GET /api/v1/repos/mira/garden/actions/runs/7": () => ({ body: run() }),
    "GET /api/v1/repos/mira/garden/actions/runs/7/jobs": () => ({
      body: { jobs: jobs(), total_count: 2 },
    }),
    "GET /api/v1/repos/mira/garden/actions/jobs/11/logs": ({ path }) => {
      const from = Number(new URL(path, "http://x").searchParams.get("from_row"));
      return { body: Buffer.from(state.log.split("\n").slice(from).join("\n")) };
    },
    "GET /api/v1/repos/mira/garden/actions/runs/99": () => notFound,
    "GET /api/v1/repos/mira/garden/actions/runs/99/jobs": () => notFound,
    "POST /api/v1/repos/mira/garden/actions/runs/7/rerun-failed-jobs": () => {
      state.run = "in_progress";
      return { status: 201 };
    },
    "POST /api/v1/repos/mira/garden/actions/runs/7/cancel": () => {
      state.run = "cancelled";
      return { status: 204 };
    },
  };
  return answers;
}

const log = [
  "::group::Run make",
  "::endgroup::",
  "made",
  "::group::Run test",
  "::endgroup::",
  "tested",
]
  .map((row) => `2026-11-21T11:59:00.000Z ${row}\n`)
  .join("");

async function inWatch(
  target: string,
  state: { run: Outcome; log: string },
  use: (terminal: FakeTerminal, requests: readonly RecordedRequest[]) => Promise<void>,
  options: Partial<InTerminal> = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(forge(state));
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  return await runInTerminal(
    ["run", "watch", target],
    { home: home.path, now: () => now, ...options },
    (terminal) => use(terminal, daemon.requests),
  );
}

test("a line names a repository or one of its runs", async () => {
  expect(await optionsOf("run watch", ["mira/garden"])).toEqual({
    run: { owner: "mira", repo: "garden", id: undefined },
  });
  expect(await optionsOf("run watch", ["mira/garden/7"])).toMatchObject({
    run: { owner: "mira", repo: "garden", id: 7 },
  });
});

test("shows the runs, the jobs of one as a tree, and a log folded by step", async () => {
  const state = { run: "in_progress" as Outcome, log };
  const { code } = await inWatch("mira/garden", state, async (screen) => {
    await screen.sees("❯ * #3 Water the garden");
    await screen.press(keys.enter);
    await screen.sees("Run test");
    expect(
      screen
        .rows()
        .slice(0, 6)
        .map((row) => row.replaceAll(/ {2,}/g, "  ")),
    ).toEqual([
      "mira/garden #3: Water the garden  running",
      "",
      "❯ v * build  running  1m 30s",
      "  + Run make  success  1m 0s",
      "  * Run test  running  1m 10s",
      "  > . deploy  queued",
    ]);
    await screen.press("l");
    await screen.sees("❯   tested");
    await screen.press("gz", "v Run make");
    await screen.sees((text) => text.includes("> Run make") && !text.includes("made"));
    state.log += "2026-11-21T11:59:30.000Z more\n";
    await screen.press("zf");
    await screen.sees("❯   more");
    await screen.press("q");
    await screen.press("q", "deploy");
    await screen.press("q", "Runs of mira/garden");
  });
  expect(code).toBe(0);
});

test("the cursor stays on its run when another one begins", async () => {
  await using home = await temporaryHome();
  const runOf = (id: number) => ({
    ...{ id, run_number: id, display_title: `Run ${id}`, path: "ci.yml@refs/heads/main" },
    ...{ event: "push", head_sha: "0123456789abcdef", actor: { login: "mira" } },
    ...outcome("success"),
    started_at: at(90),
  });
  let runs = [runOf(2), runOf(1)];
  await using daemon = await fakeDaemon({
    "GET /api/v1/repos/mira/garden/actions/runs": () => ({
      body: { workflow_runs: runs, total_count: runs.length },
    }),
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const options = { home: home.path, now: () => now };
  await runInTerminal(["run", "watch", "mira/garden"], options, async (screen) => {
    await screen.press("j", "❯ + #2 Run 2");
    await screen.sees("❯ + #1 Run 1");
    runs = [runOf(3), ...runs];
    await screen.press("R");
    await screen.sees("#3 Run 3");
    await screen.press("q", "❯ + #1 Run 1");
  });
});

test("c cancels the run after a question", async () => {
  await inWatch("mira/garden/7", { run: "in_progress", log }, async (screen, requests) => {
    await screen.press("c", "Run test");
    await screen.press("y", "Cancel run #3?");
    await screen.sees("Cancelled run #3.");
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    await screen.press("c");
    await screen.press("q", "The run has ended.");
  });
});

test("r runs the failed jobs again after a question", async () => {
  await inWatch("mira/garden/7", { run: "failure", log }, async (screen, requests) => {
    await screen.press("r", "Run test");
    await screen.press("y", "Run the failed jobs of run #3 again?");
    await screen.sees("Started the failed jobs of run #3 again.");
    await screen.press("r", "running");
    await screen.press("q", "The run has not ended yet.");
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });
});

test("a run that is not there shows the error alone, and keys that work", async () => {
  const state = { run: "success" as Outcome, log };
  const { code, err } = await inWatch("mira/garden/99", state, async (screen) => {
    await screen.sees("R try again  ? keys  q leave");
    expect(screen.rows()[0]).toBe("Run 99 of mira/garden");
    for (const other of ["Loading", "There are no runs", "cancel", "Enter"])
      expect(screen.screen()).not.toContain(other);
    await screen.press("q");
  });
  expect(code).toBe(6);
  expect(err).not.toBe("");
});

test("a run whose jobs cannot be read shows the error instead of an empty list", async () => {
  await using home = await temporaryHome();
  const answers = forge({ run: "success", log });
  const refused: FakeAnswer = { status: 500, body: { message: "it broke" } };
  await using daemon = await fakeDaemon({
    ...answers,
    "GET /api/v1/repos/mira/garden/actions/runs/7/jobs": () => refused,
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  await runInTerminal(
    ["run", "watch", "mira/garden"],
    { home: home.path, now: () => now },
    async (screen) => {
      await screen.press(keys.enter, "1 of 1");
      await screen.sees("It broke.");
      expect(screen.screen()).not.toMatch(/There are no|has no jobs|Loading/);
      await screen.press("q", "R try again");
      await screen.press("q", "1 of 1");
    },
  );
});

test("more runs are loaded as the cursor nears the end, and the count is that of all", async () => {
  await using home = await temporaryHome();
  const all = Array.from({ length: 120 }, (_, index) => ({
    id: 200 - index,
    run_number: 120 - index,
    display_title: "Water",
    path: "ci.yml@refs/heads/main",
    event: "push",
    head_sha: "0123456789abcdef",
    head_branch: "main",
    actor: { login: "mira" },
    ...outcome("success"),
    started_at: at(90),
  }));
  await using daemon = await fakeDaemon({
    "GET /api/v1/repos/mira/garden/actions/runs": ({ path }) => {
      const from = (Number(new URL(path, "http://x").searchParams.get("page")) - 1) * 50;
      return { body: { workflow_runs: all.slice(from, from + 50), total_count: all.length } };
    },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  await runInTerminal(
    ["run", "watch", "mira/garden"],
    { home: home.path, now: () => now },
    async (screen) => {
      await screen.press("G", "1 of 120");
      await screen.press("G", "50 of 120");
      // The next page may still be under way.
      await screen.sees(/❯ \+ #71 /);
      await expect
        .poll(async () => {
          await screen.press("G");
          return screen.screen();
        })
        .toContain("120 of 120");
      expect(screen.screen()).toContain("❯ + #1 Water");
      await screen.press("q");
    },
  );
});

test("is usable in 40 columns and 12 rows", async () => {
  await inWatch(
    "mira/garden/7",
    { run: "failure", log },
    async (screen) => {
      await screen.sees("Run test");
      expect(Math.max(...screen.rows().map((row) => row.length))).toBeLessThan(40);
      await screen.press("l");
      await screen.press("q", "tested");
      await screen.press("q", "deploy");
    },
    { columns: 40, rows: 12 },
  );
});

test("without a terminal each state is a line, until the run has ended", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(forge({ run: "failure", log }));
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const options = { home: home.path };
  const ran = await runCli(["run", "watch", "mira/garden"], options);
  expect(ran.code).toBe(0);
  expect(ran.out.split("\n").map((line) => line.split("\t").slice(0, 4))).toEqual([
    ["7", "11", "build", "failure"],
    ["7", "12", "deploy", "queued"],
    ["7", "", "Water the garden", "failure"],
    [""],
  ]);
  const machine = await runCli(["run", "watch", "mira/garden/7", "--ndjson"], options);
  expect(JSON.parse(machine.out.split("\n")[0] ?? "")).toMatchObject({
    job: 11,
    status: "failure",
  });
});

test("shows each row once when a key reads the log while the screen reloads", async () => {
  const job = {
    ...{ id: 11, name: "build", labels: [], runner_name: "r", steps: [] },
    ...{ status: "in_progress", started_at: at(9), completed_at: null },
  };
  const answered = Promise.withResolvers<void>();
  let wasOpened = false;
  const screen = createRunWatch({
    source: {
      listRuns: async () => ({ runs: [], total: 0 }),
      getRun: async (id) =>
        ({
          ...job,
          id,
          run_number: 3,
          event: "push",
          head_branch: "main",
          path: "ci.yml",
          actor: { login: "mira" },
        }) as never,
      listJobs: async () => [job] as never,
      async *readLog(_job, from) {
        wasOpened = true;
        await answered.promise;
        for (const row of ["one", "two", "three"].slice(from))
          yield `2026-11-21T11:59:00.000Z ${row}\n`;
      },
      cancel: async () => undefined,
      rerun: async () => undefined,
    },
    repository: "mira/garden",
    runId: 7,
    style: { bold, dim: bold, red: bold, green: bold, yellow: bold },
    clock: () => now,
  });
  const draw = () => JSON.stringify(screen.draw({ columns: 80, rows: 24 }));
  await screen.reload();
  draw();
  screen.press({ kind: "text", text: "l" });
  await expect.poll(() => wasOpened).toBe(true);
  const reloaded = screen.reload();
  answered.resolve();
  await reloaded;
  await screen.reload();
  for (const row of ["one", "two", "three"]) expect(draw().split(` ${row}`)).toHaveLength(2);
});

const bold = (text: string) => text;
