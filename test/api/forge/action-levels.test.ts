import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { callRunner, fetchTask, registerRunner } from "../../support/forge/runner-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const user of ["mira", "noah", "nora"]) await people.newUser(user);
  await people.api("POST", "/admin/users/mira/repos", { name: "box" });
  await people.api("POST", "/admin/users/mira/orgs", { username: "guild" });
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const levels = [
  ["a repository", "/repos/mira/box/actions"],
  ["an organization", "/orgs/guild/actions"],
  ["a user", "/user/actions"],
] as const;

const by = (user: string, method: string, path: string, json?: unknown) =>
  people.by(user, method, path, json);

const tokenOf = async (user: string, base: string): Promise<string> =>
  (await by(user, "POST", `${base}/runners/registration-token`)).json.token;

describe.each(levels)("the runners of %s", (_what, base) => {
  test("runners of %s are registered by its token and managed by its owner", async () => {
    const token = await tokenOf("mira", base);
    expect(await tokenOf("mira", base)).toBe(token);
    const runner = await registerRunner(daemon, token, { name: "own", labels: ["x"] });
    const listed = await by("mira", "GET", `${base}/runners`);
    expect(listed.json).toMatchObject({
      total_count: 1,
      runners: [{ id: runner.id, name: "own" }],
    });
    expect(listed.headers.get("x-total-count")).toBe("1");
    expectWireShape("ActionRunner", listed.json.runners);
    const path = `${base}/runners/${runner.id}`;
    expect((await by("mira", "PATCH", path, {})).status).toBe(422);
    expect((await by("mira", "PATCH", path, { disabled: true })).json.disabled).toBe(true);
    expect((await by("mira", "GET", `${base}/runners?disabled=false`)).json.total_count).toBe(0);
    expect((await by("mira", "GET", path)).json).toMatchObject({ id: runner.id, disabled: true });
    expect((await by("mira", "DELETE", path)).status).toBe(204);
    expect((await by("mira", "DELETE", path)).status).toBe(404);
    const gone = await callRunner(daemon, "FetchTask", { tasksVersion: "0" }, runner);
    expect(gone.text).toContain("unregistered runner");
  });

  test("runners of %s are not registered by a token that was renewed", async () => {
    const old = await tokenOf("mira", base);
    const renewed = await by("mira", "POST", `${base}/runners/registration-token?renew=true`);
    expect(renewed.json.token).not.toBe(old);
    const refused = await callRunner(daemon, "Register", { token: old, name: "r" });
    expect(refused.text).toContain("has been invalidated");
  });

  test("runners of %s are hidden from other levels and other users", async () => {
    const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
    const foreign = await registerRunner(daemon, json.token, { name: "server", labels: ["x"] });
    const own = await registerRunner(daemon, await tokenOf("mira", base), {
      name: "own",
      labels: ["x"],
    });
    for (const [method, body] of [["GET"], ["PATCH", { disabled: true }], ["DELETE"]] as const) {
      const answer = await by("mira", method, `${base}/runners/${foreign.id}`, body);
      expect([answer.status, answer.json.message]).toEqual([
        404,
        `runner with id ${foreign.id}: resource does not exist`,
      ]);
      const path = `${base}/runners/${own.id}`;
      expect((await by("noah", method, path, body)).status).toBe(
        base === "/user/actions" ? 404 : 403,
      );
      expect((await people.api(method, path, body, "")).status).toBe(401);
    }
    const runners = (await people.api("GET", "/admin/actions/runners?limit=50")).json.runners;
    expect(runners.map(({ id }: { id: number }) => id)).toEqual(
      expect.arrayContaining([foreign.id, own.id]),
    );
    for (const runner of [foreign, own])
      await people.api("DELETE", `/admin/actions/runners/${runner.id}`);
  });
});

test("a collaborator with write access gets no registration token of the repository", async () => {
  await by("mira", "PUT", "/repos/mira/box/collaborators/noah", { permission: "write" });
  const asked = await by("noah", "POST", "/repos/mira/box/actions/runners/registration-token");
  expect(asked.status).toBe(403);
  await by("mira", "DELETE", "/repos/mira/box/collaborators/noah");
});

test("the registration token of a deleted repository registers no runner", async () => {
  await people.api("POST", "/admin/users/mira/repos", { name: "gone" });
  const token = await tokenOf("mira", "/repos/mira/gone/actions");
  await people.api("DELETE", "/repos/mira/gone");
  const refused = await callRunner(daemon, "Register", { token, name: "late" });
  expect(refused.json.message).toBe("runner registration token not found");
});

const workflow = "on: push\njobs: { a: { runs-on: scope, steps: [{ run: x }] } }\n";

describe("a runner takes jobs of its level alone", () => {
  test("a runner takes only jobs of its level: of a repository, of an owner, or all", async () => {
    const one = createWorkflowRepository({ daemon, people, git }, "nora", "one");
    const two = createWorkflowRepository({ daemon, people, git }, "nora", "two");
    const far = createWorkflowRepository({ daemon, people, git }, "noah", "far");
    for (const each of [one, two, far]) {
      await each.create();
      await each.push({ "ci.yml": workflow });
      await each.waitForRuns(1);
    }
    const labels = ["scope"];
    const register = async (user: string, base: string) =>
      registerRunner(daemon, await tokenOf(user, base), { name: base, labels });
    const repository = await register("nora", "/repos/nora/two/actions");
    const owner = await register("nora", "/user/actions");
    const organization = await register("mira", "/orgs/guild/actions");
    const { json } = await people.api("POST", "/admin/actions/runners/registration-token");
    const server = await registerRunner(daemon, json.token, { name: "server", labels });
    const take = async (runner: typeof server) =>
      ((await fetchTask(daemon, runner)).task?.context as { repository?: string } | undefined)
        ?.repository;
    expect(await take(organization)).toBeUndefined();
    expect(await take(repository)).toBe("nora/two");
    expect(await take(repository)).toBeUndefined();
    expect(await take(owner)).toBe("nora/one");
    expect(await take(owner)).toBeUndefined();
    expect(await take(server)).toBe("noah/far");
  });
});

describe("runs and jobs of an owner", () => {
  test("runs and jobs of an owner are listed from repositories that the caller may read", async () => {
    for (const [name, isPrivate] of [
      ["open", false],
      ["closed", true],
    ] as const) {
      await by("mira", "POST", "/orgs/guild/repos", { name, private: isPrivate });
      const repository = createWorkflowRepository({ daemon, people, git }, "guild", name);
      await git.run("init", "-q", "-b", "main", name);
      const origin = daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`);
      await git.in(name, "remote", "add", "origin", `${origin}/guild/${name}.git`);
      await repository.push({ "ci.yml": workflow });
      await repository.waitForRuns(1);
    }
    const team = await by("mira", "POST", "/orgs/guild/teams", {
      name: "readers",
      permission: "read",
      units: ["repo.code"],
    });
    await by("mira", "PUT", `/teams/${team.json.id}/members/noah`);
    const repositoriesSeenBy = async (user: string) => {
      const runs = await by(user, "GET", "/orgs/guild/actions/runs");
      const jobs = await by(user, "GET", "/orgs/guild/actions/jobs?status=queued");
      expect(jobs.json.total_count).toBe(runs.json.total_count);
      expect(runs.headers.get("x-total-count")).toBe(String(runs.json.total_count));
      return runs.json.workflow_runs.map(
        (run: { repository: { full_name: string } }) => run.repository.full_name,
      );
    };
    expect(await repositoriesSeenBy("mira")).toEqual(["guild/closed", "guild/open"]);
    expect(await repositoriesSeenBy("noah")).toEqual(["guild/open"]);
    expect((await by("nora", "GET", "/orgs/guild/actions/runs")).status).toBe(403);
    const filtered = await by("mira", "GET", "/orgs/guild/actions/runs?event=schedule");
    expect(filtered.json).toEqual({ workflow_runs: [], total_count: 0 });
    const own = await by("nora", "GET", "/user/actions/runs?limit=1");
    expect(own.json).toMatchObject({ total_count: 2, workflow_runs: [{ event: "push" }] });
    expect((await by("nora", "GET", "/user/actions/jobs")).json.total_count).toBe(2);
    expect((await by("mira", "GET", "/user/actions/runs")).json.total_count).toBe(0);
  });
});
