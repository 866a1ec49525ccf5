import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Dependencies, assignees and tracked times of issues.

let daemon: TestDaemon;
let now = Date.parse("2026-11-23T10:00:00Z");
const people = createForgePeople(() => daemon);
const { api, by, newUser } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" }, clock: () => now });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function newRepository(owner: string, fields: object = {}): Promise<string> {
  const repo = `/repos/${owner}/${await people.newRepository(owner, fields)}`;
  for (const title of ["First", "Second", "Third"])
    expect((await by(owner, "POST", `${repo}/issues`, { title })).status).toBe(201);
  return repo;
}

const numbersOf = ({ json }: { readonly json: unknown }) =>
  (json as { number: number }[]).map(({ number }) => number);
const toOther = (repo: string, index: number) => {
  const [, , owner, name] = repo.split("/");
  return { owner, repo: name, index };
};

describe("dependencies of issues", () => {
  test("an issue with an open blocker cannot be closed", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const first = `${repo}/issues/1`;
    const added = await by(mira, "POST", `${first}/dependencies`, toOther(repo, 2));
    expect(added).toMatchObject({ status: 201, json: { number: 1 } });
    const refused = await by(mira, "PATCH", first, { state: "closed" });
    expect(refused.status).toBe(412);
    expect(refused.json.message).toContain("open dependencies");
    expect((await by(mira, "GET", first)).json.state).toBe("open");
    await by(mira, "PATCH", `${repo}/issues/2`, { state: "closed" });
    expect((await by(mira, "PATCH", first, { state: "closed" })).json.state).toBe("closed");
  });

  test("both sides list a dependency, and both timelines record it", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues/1/dependencies`, { index: 2 });
    await by(mira, "POST", `${repo}/issues/3/blocks`, toOther(repo, 1));
    const blockers = await by(mira, "GET", `${repo}/issues/1/dependencies`);
    expect(numbersOf(blockers)).toEqual([2, 3]);
    expect(blockers.headers.get("x-total-count")).toBe("2");
    expect(
      numbersOf(await by(mira, "GET", `${repo}/issues/1/dependencies?limit=1&page=2`)),
    ).toEqual([3]);
    expect(numbersOf(await by(mira, "GET", `${repo}/issues/3/blocks`))).toEqual([1]);
    const gone = await by(mira, "DELETE", `${repo}/issues/2/blocks`, toOther(repo, 1));
    expect(gone).toMatchObject({ status: 201, json: { number: 2 } });
    expect(numbersOf(await by(mira, "GET", `${repo}/issues/1/dependencies`))).toEqual([3]);
    const timeline = await by(mira, "GET", `${repo}/issues/2/timeline`);
    expect(timeline.json).toMatchObject([
      { type: "add_dependency", dependent_issue: { number: 1 } },
      { type: "remove_dependency", dependent_issue: { number: 1 } },
    ]);
  });

  test("a cycle of dependencies, a repeated one and a dependency on itself are refused", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const depend = (on: number, blocker: number) =>
      by(mira, "POST", `${repo}/issues/${on}/dependencies`, { index: blocker });
    expect((await depend(1, 2)).status).toBe(201);
    expect((await depend(2, 3)).status).toBe(201);
    expect((await depend(1, 2)).status).toBe(409);
    expect((await depend(3, 1)).status).toBe(409);
    expect((await depend(1, 1)).status).toBe(422);
    expect((await depend(1, 9)).status).toBe(404);
    const missing = await by(mira, "DELETE", `${repo}/issues/1/dependencies`, { index: 3 });
    expect(missing.status).toBe(404);
  });

  test("an issue of a private repository is hidden from those who may not read it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const open = await newRepository(mira);
    const secret = await newRepository(mira, { private: true });
    await by(mira, "POST", `${open}/issues/1/dependencies`, toOther(secret, 1));
    const shown = await by(mira, "GET", `${open}/issues/1/dependencies`);
    expect(shown.json).toMatchObject([{ repository: { full_name: secret.slice(7) } }]);
    const hidden = await by(nora, "GET", `${open}/issues/1/dependencies`);
    expect(hidden).toMatchObject({ status: 200, json: [] });
    const timeline = await by(nora, "GET", `${open}/issues/1/timeline`);
    expect(timeline.json).toMatchObject([
      { type: "add_dependency", dependent_issue: null, ref_action: "none" },
    ]);
    const own = await newRepository(nora);
    const guessed = await by(nora, "POST", `${own}/issues/1/dependencies`, toOther(secret, 1));
    expect(guessed.status).toBe(404);
    expect((await by(nora, "POST", `${open}/issues/2/dependencies`, { index: 3 })).status).toBe(
      404,
    );
  });

  test("a repository without dependencies answers 404 and closes blocked issues", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues/1/dependencies`, { index: 2 });
    const tracker = { enable_issue_dependencies: false };
    await by(mira, "PATCH", repo, { has_issues: true, internal_tracker: tracker });
    expect((await by(mira, "GET", `${repo}/issues/1/dependencies`)).status).toBe(404);
    expect((await by(mira, "PATCH", `${repo}/issues/1`, { state: "closed" })).status).toBe(201);
  });
});

describe("tracked time", () => {
  test("a stopwatch adds its time, and a second one ends the first", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const watch = (number: number, verb: string) =>
      by(mira, "POST", `${repo}/issues/${number}/stopwatch/${verb}`);
    expect((await watch(1, "start")).status).toBe(201);
    expect((await watch(1, "start")).status).toBe(409);
    now += 90_000;
    expect((await by(mira, "GET", "/user/stopwatches")).json).toMatchObject([
      { issue_index: 1, seconds: 90, duration: "1 minute" },
    ]);
    expect((await watch(2, "start")).status).toBe(201);
    expect((await watch(1, "stop")).status).toBe(409);
    now += 3_660_000;
    await by(mira, "PATCH", `${repo}/issues/2`, { state: "closed" });
    expect((await by(mira, "GET", "/user/stopwatches")).json).toEqual([]);
    const times = await by(mira, "GET", "/user/times");
    expect(times.json).toMatchObject([
      { time: 90, user_name: mira, issue: { number: 1 } },
      { time: 3660, issue: { number: 2 } },
    ]);
    const timeline = await by(mira, "GET", `${repo}/issues/2/timeline`);
    expect(timeline.json).toMatchObject([
      { type: "start_tracking" },
      { type: "close" },
      { type: "stop_tracking", body: "1 hour 1 minute", tracked_time: { time: 3660 } },
    ]);
    await watch(3, "start");
    const dropped = await by(mira, "DELETE", `${repo}/issues/3/stopwatch/delete`);
    expect(dropped.status).toBe(204);
    expect((await by(mira, "GET", `${repo}/issues/3/times`)).json).toEqual([]);
  });

  test("tracked time is added, listed by range and deleted", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const times = `${repo}/issues/1/times`;
    const early = { time: 60, created: "2026-01-02T03:04:05Z" };
    const added = await by(mira, "POST", times, early);
    expect(added).toMatchObject({ status: 200, json: { created: "2026-01-02T03:04:05Z" } });
    // Clients written in Go send the zero time for an absent one.
    const now = { time: 120, created: "0001-01-01T00:00:00Z" };
    expect(Date.parse((await by(mira, "POST", times, now)).json.created)).toBeGreaterThan(
      Date.parse(early.created),
    );
    for (const time of [0, -5, 1e12])
      expect((await by(mira, "POST", times, { time })).status).toBe(422);
    const late = await by(mira, "GET", `${repo}/times?since=2026-06-01T00:00:00Z`);
    expect(late.json).toMatchObject([{ time: 120 }]);
    expect((await by(mira, "GET", `${repo}/times/${mira}`)).json).toHaveLength(2);
    expect((await by(mira, "DELETE", `${times}/${added.json.id}`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${times}/${added.json.id}`)).status).toBe(404);
    expect((await by(mira, "DELETE", times)).status).toBe(204);
    expect((await by(mira, "DELETE", times)).status).toBe(404);
  });

  test("readers see and change only their own tracked time, and only where they may track it", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    const times = `${repo}/issues/1/times`;
    const own = await by(mira, "POST", times, { time: 60 });
    expect((await by(nora, "POST", times, { time: 60 })).status).toBe(403);
    expect((await by(nora, "GET", times)).json).toEqual([]);
    expect((await by(nora, "GET", `${times}?user=${mira}`)).status).toBe(403);
    expect((await by(nora, "GET", `${repo}/times/${mira}`)).status).toBe(403);
    await by(mira, "POST", `${repo}/issues/1/assignees`, { assignees: [nora] });
    expect((await by(nora, "POST", times, { time: 30, user_name: mira })).json.user_name).toBe(
      nora,
    );
    expect((await by(nora, "DELETE", `${times}/${own.json.id}`)).status).toBe(403);
    expect((await by(nora, "POST", `${repo}/issues/1/stopwatch/start`)).status).toBe(403);
    expect((await by(mira, "GET", times)).json).toHaveLength(2);
    const hidden = await newRepository(mira, { private: true });
    expect((await by(nora, "GET", `${hidden}/issues/1/times`)).status).toBe(404);
    await by(mira, "PATCH", repo, {
      has_issues: true,
      internal_tracker: { enable_time_tracker: false },
    });
    expect((await by(mira, "GET", times)).status).toBe(400);
    expect((await api("GET", "/user/times")).json).toEqual([]);
  });
});

describe("assignees", () => {
  test("assignees are added to and removed from an issue", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira);
    const issue = `${repo}/issues/1`;
    const add = await by(mira, "POST", `${issue}/assignees`, { assignees: [nora] });
    expect(add.status).toBe(201);
    const both = await by(mira, "POST", `${issue}/assignees`, { assignees: [otto, nora] });
    const names = (list: { login: string }[]) => list.map(({ login }) => login).toSorted();
    expect(names(both.json.assignees)).toEqual([nora, otto].toSorted());
    const less = await by(mira, "DELETE", `${issue}/assignees`, { assignees: [nora] });
    expect(less).toMatchObject({ status: 200, json: { assignee: { login: otto } } });
    expect((await by(nora, "POST", `${issue}/assignees`, { assignees: [nora] })).status).toBe(403);
    const unknown = await by(mira, "POST", `${issue}/assignees`, { assignees: ["nobody-here"] });
    expect(unknown.status).toBe(422);
    for (const place of [repo, issue]) {
      expect((await by(nora, "GET", `${place}/assignees/${nora}`)).status).toBe(204);
      expect((await by(nora, "GET", `${place}/assignees/nobody-here`)).status).toBe(404);
    }
    expect((await by(mira, "GET", `${repo}/reviewers`)).json).toMatchObject([{ login: mira }]);
    expect((await by(nora, "GET", `${repo}/reviewers`)).status).toBe(403);
  });
});
