import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { hasDatabaseFile } from "../../support/skip.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api } = people;
beforeAll(async () => {
  // A day's time at which nothing runs by itself. The process may have run for an hour.
  const startedAt = performance.now();
  const clock = () => Date.UTC(2026, 10, 20, 9, 30) + Math.floor(performance.now() - startedAt);
  daemon = await startTestDaemon({ clock, env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Task {
  readonly name: string;
  readonly exec_times: number;
  readonly prev: string;
  readonly schedule: string;
  readonly next: string;
}
const taskOf = async (name: string) =>
  ((await api("GET", "/admin/cron?limit=50")).json as Task[]).find((task) => task.name === name);

test("the list of cron tasks has the documented shape, a total and no links", async () => {
  const answer = await api("GET", "/admin/cron?limit=3");
  expect(answer.status).toBe(200);
  expectWireShape("Cron", answer.json);
  expect(answer.json).toHaveLength(3);
  expect(Number(answer.headers.get("x-total-count"))).toBeGreaterThan(8);
  expect(answer.headers.get("link")).toBeNull();
});

test("an unknown task is 404, and names are case-sensitive", async () => {
  for (const name of ["unknown", "Backup_Database", "backup_database%20"])
    expect((await api("POST", `/admin/cron/${name}`)).json.message).toBe("not found");
});

test("unsupported tasks of Gitea are listed as disabled, and a run by hand is recorded", async () => {
  const tasks = (await api("GET", "/admin/cron?limit=50")).json as Task[];
  expect(tasks.slice(0, 29).map(({ name }) => name)).toEqual(
    expect.arrayContaining(["update_mirrors", "gc_lfs", "cleanup_actions", "git_gc_repos"]),
  );
  const scheduleOf = (name: string) => tasks.find((task) => task.name === name)?.schedule;
  expect(scheduleOf("repo_health_check")).toBe("@midnight");
  expect(scheduleOf("stop_endless_tasks")).toBe("@every 30m");
  const disabled = { schedule: "-", next: "0001-01-01T00:00:00Z", exec_times: 0 };
  expect(scheduleOf("update_mirrors")).toBe("@every 10m");
  expect(await taskOf("sync_external_users")).toMatchObject(disabled);
  for (const count of [1, 2]) {
    expect((await api("POST", "/admin/cron/sync_external_users")).status).toBe(204);
    const ran = { ...disabled, exec_times: count, prev: expect.stringMatching("^2026-11-20T") };
    expect(await taskOf("sync_external_users")).toMatchObject(ran);
  }
  const archives = { schedule: "@midnight", next: expect.stringMatching("^2026-11-21T") };
  expect(await taskOf("archive_cleanup")).toMatchObject({ ...archives, exec_times: 0 });
  expect((await api("POST", "/admin/cron/archive_cleanup")).status).toBe(204);
  expect(await taskOf("archive_cleanup")).toMatchObject({
    ...archives,
    exec_times: 1,
    prev: expect.stringMatching("^2026-11-20T"),
  });
});

test("every task runs on demand and answers 204 without a body", async () => {
  await api("POST", "/admin/users/keeper/repos", { name: "cared-for", auto_init: true });
  const tasks = (await api("GET", "/admin/cron?limit=50")).json as Task[];
  for (const { name } of tasks.filter(({ schedule }) => schedule !== "-")) {
    const before = (await taskOf(name))?.exec_times ?? 0;
    const answer = await api("POST", `/admin/cron/${name}`);
    expect([name, answer.status, answer.text]).toEqual([name, 204, ""]);
    // The answer waits for the end of the run, but not for ever.
    await expect.poll(async () => (await taskOf(name))?.exec_times).toBeGreaterThan(before);
  }
  // The commit-graph knows the paths that commits change: BIDX is the chunk of their Bloom filters.
  const repository = join(daemon.home, "repositories", "keeper", "cared-for.git");
  const graph = await readFile(join(repository, "objects", "info", "commit-graph"), "latin1");
  expect(graph).toContain("BIDX");
  expect(await readdir(join(daemon.home, "backups"))).toEqual(
    hasDatabaseFile ? [expect.stringMatching(/^croft-\d{8}-\d{6}\.db$/)] : [],
  );
  expect(JSON.stringify(daemon.log)).not.toContain("scheduled task failed");
});

test("the check of repositories reports a damaged one and checks the others as well", async () => {
  await api("POST", "/admin/users/keeper/repos", { name: "damaged", auto_init: true });
  const heads = join(daemon.home, "repositories", "keeper", "damaged.git", "refs", "heads");
  await writeFile(join(heads, "broken"), `${"1".repeat(40)}\n`);
  await api("POST", "/admin/cron/repo_health_check");
  const findLine = () =>
    daemon.log
      .map((line) => JSON.stringify(line))
      .find((each) => each.includes("scheduled task failed"));
  await expect.poll(findLine).toMatch(/git found damage in the repositories \d+"/);
});
