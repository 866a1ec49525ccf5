import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { createGitClient } from "../../../support/forge/git-client.ts";
import { callRunner, fetchTask, registerRunner } from "../../../support/forge/runner-client.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
});
afterAll(() => daemon[Symbol.asyncDispose]());

test("the lines become options", async () => {
  expect(await optionsOf("run list", ["mira/one", "--status", "queued"])).toEqual({
    repository: "mira/one",
    status: "queued",
  });
  expect(await optionsOf("run list", ["--org", "guild"])).toEqual({ org: "guild" });
  expect(await optionsOf("run view", ["mira/one/7"])).toEqual({
    run: { owner: "mira", repo: "one", id: 7 },
  });
  expect(await optionsOf("run log", ["mira/one/7", "--follow"])).toMatchObject({
    job: { owner: "mira", repo: "one", id: 7 },
    follow: true,
  });
  expect(await optionsOf("runner token", ["--repo", "mira/one", "--renew"])).toEqual({
    repo: "mira/one",
    renew: true,
  });
  expect(
    await optionsOf("admin run list", ["--status", "queued", "success", "--commit", "abc"]),
  ).toEqual({ status: ["queued", "success"], commit: "abc" });
  expect(await optionsOf("admin job list", ["--order", "desc"])).toEqual({ order: "desc" });
  expect(await optionsOf("runner list", [])).toEqual({});
  expect(await optionsOf("runner delete", ["7", "--user"])).toMatchObject({ id: "7", user: true });
});

test.each([
  [["run", "list"]],
  [["run", "list", "mira/one", "--user"]],
  [["run", "list", "--user", "--workflow", "ci.yml"]],
  [["runner", "list", "--user", "--org", "guild"]],
  [["admin", "job", "list", "--order", "up"]],
  [["runner", "register", "--org", "guild", "--token-stdin"]],
])("%j is a usage error", async (line) => {
  await using home = await temporaryHome();
  expect(await runCli(line, { home: home.path })).toMatchObject({ code: 2 });
});

test.each([[["--repo", "mira/box"]], [["--org", "guild"]], [["--user"]]])(
  "a runner of %j is registered, listed, disabled and deleted by commands",
  async (level) => {
    await people.api("POST", "/admin/users/mira/repos", { name: "box" });
    await people.api("POST", "/admin/users/mira/orgs", { username: "guild" });
    await using home = await temporaryHome();
    const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
    const croft = (...line: readonly string[]) =>
      runCli([...line, "--json"], { home: home.path, env });
    const made = await croft("runner", "register", "--name", "own", "--labels", "x:host", ...level);
    expect([made.code, made.json()]).toMatchObject([0, { name: "own" }]);
    const { id } = made.json() as { id: number };
    expect((await croft("runner", "list", ...level)).json()).toMatchObject([{ id, name: "own" }]);
    expect((await croft("runner", "disable", String(id), ...level)).json()).toMatchObject({
      disabled: true,
    });
    expect((await croft("runner", "view", String(id), ...level)).json()).toMatchObject({ id });
    expect((await croft("runner", "enable", String(id), ...level)).code).toBe(0);
    expect((await croft("runner", "list")).code).not.toBe(0);
    expect((await croft("runner", "delete", String(id), "--yes", ...level)).code).toBe(0);
    expect((await croft("runner", "list", ...level)).json()).toEqual([]);
    expect((await croft("runner", "token", ...level)).json()).toEqual({
      token: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
  },
);

test("a pushed workflow is listed, logged, cancelled and deleted by commands", async () => {
  await using home = await temporaryHome();
  await using git = await createGitClient();
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.admin };
  const croft = (...line: readonly string[]) =>
    runCli([...line, "--json"], { home: home.path, env });
  await people.api("POST", "/admin/users/mira/repos", { name: "one" });
  await git.run("init", "-q", "-b", "main", "one");
  await mkdir(join(git.folder, "one/.gitea/workflows"), { recursive: true });
  const file = "on: push\njobs: { a: { runs-on: x, steps: [{ run: x }] } }\n";
  await writeFile(join(git.folder, "one/.gitea/workflows/ci.yml"), file);
  await git.in("one", "add", ".");
  await git.in("one", "commit", "-q", "-m", "first");
  const url = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/one.git`;
  await git.in("one", "push", "-q", url, "main");
  const [run] = await vi.waitUntil(async () => {
    const runs = (await croft("run", "list", "mira/one")).json() as { id: number }[];
    return runs.length > 0 && runs;
  }, 10_000);
  const name = `mira/one/${run?.id}`;

  const [waiting] = (await croft("run", "jobs", name)).json() as { id: number }[];
  const early = await croft("run", "log", `mira/one/${waiting?.id}`);
  expect(early.code).toBe(6);
  expect(early.err).toContain("the job has no log: it waits for a runner with the labels x");

  const { token } = (await croft("runner", "token")).json() as { token: string };
  const runner = await registerRunner(daemon, token, { name: "r", labels: ["x"] });
  expect((await croft("runner", "list")).json()).toMatchObject([{ id: runner.id, name: "r" }]);
  const { task } = await fetchTask(daemon, runner);
  const busy = ["--status", "in_progress", "queued"];
  expect((await croft("admin", "run", "list", ...busy)).json()).toMatchObject([{ id: run?.id }]);
  expect((await croft("admin", "run", "list", "--actor", "mira", "--branch", "x")).json()).toEqual(
    [],
  );
  expect((await croft("admin", "runner", "list")).json()).toMatchObject([{ id: runner.id }]);
  expect((await croft("admin", "job", "list", ...busy)).json()).toMatchObject([{ name: "a" }]);
  const table = await runCli(["admin", "job", "list"], { home: home.path, env });
  expect(table.out).toContain("mira/one");
  const rows = [{ time: "2026-01-01T00:00:00Z", content: "hello" }];
  await callRunner(daemon, "UpdateLog", { taskId: String(task?.id), index: 0, rows }, runner);
  const state = { id: String(task?.id), steps: [{ id: "0", startedAt: rows[0]?.time }] };
  await callRunner(daemon, "UpdateTask", { state }, runner);

  const [job] = (await croft("run", "jobs", name)).json() as { id: number }[];
  expect((await croft("run", "log", `mira/one/${job?.id}`)).json()).toEqual({
    log: "2026-01-01T00:00:00.000Z hello\n",
  });
  const logOf = async (step: string) =>
    (await croft("run", "log", `mira/one/${job?.id}`, "--step", step)).json();
  expect(await logOf("1")).toEqual({ log: "2026-01-01T00:00:00.000Z hello\n" });
  // The second row is not of the step.
  await callRunner(
    daemon,
    "UpdateLog",
    { taskId: String(task?.id), index: 1, rows: [{ ...rows[0], content: "bye" }] },
    runner,
  );
  const ended = { id: "0", result: "RESULT_SUCCESS", logIndex: "0", logLength: "1" };
  await callRunner(daemon, "UpdateTask", { state: { ...state, steps: [ended] } }, runner);
  expect(await logOf("Run x")).toEqual({ log: "2026-01-01T00:00:00.000Z hello\n" });
  const unknown = await croft("run", "log", `mira/one/${job?.id}`, "--step", "Run y");
  expect([unknown.code, unknown.err]).toEqual([6, expect.stringContaining("1 Run x")]);
  expect((await croft("run", "cancel", name)).code).toBe(0);
  expect((await croft("run", "view", name)).json()).toMatchObject({ conclusion: "cancelled" });
  const followed = await runCli(["run", "log", `mira/one/${job?.id}`, "--follow"], {
    home: home.path,
    env,
  });
  expect(followed.out).toBe("2026-01-01T00:00:00.000Z hello\n2026-01-01T00:00:00.000Z bye\n");
  expect((await croft("run", "delete", name, "--yes")).code).toBe(0);
  expect((await croft("run", "list", "mira/one")).json()).toEqual([]);

  expect((await croft("runner", "disable", String(runner.id))).json()).toMatchObject({
    disabled: true,
  });
  expect((await croft("runner", "delete", String(runner.id), "--yes")).code).toBe(0);
  expect((await croft("runner", "view", String(runner.id))).code).not.toBe(0);
});
