import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
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
  for (const user of ["mira", "noah"]) await people.newUser(user);
  await people.api("POST", "/admin/users/mira/orgs", { username: "guild" });
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const hook = (path: string, events: readonly string[] = ["push"], fields: object = {}) => ({
  type: "gitea",
  config: { url: `${receiver.url}/${path}`, content_type: "json" },
  events,
  active: true,
  ...fields,
});

async function deliveriesTo(path: string, count: number) {
  const all = await receiver.waitFor(count, (each) => each.path === `/${path}`);
  return all.map(({ headers, body }) => ({
    event: headers["x-gitea-event"],
    target: headers["x-gitea-hook-installation-target-type"],
    json: JSON.parse(body),
  }));
}

describe.each([
  ["an organization", "/orgs/guild/hooks"],
  ["a user", "/user/hooks"],
])("hooks of %s", (owner, path) => {
  test("hooks of an owner are created, listed, changed and deleted", async () => {
    const made = await people.by("mira", "POST", path, hook("x", ["issues"], { active: false }));
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ type: "gitea", active: false });
    expect(made.json.events).toContain("issue_comment");
    const one = `${path}/${made.json.id}`;
    const listed = await people.by("mira", "GET", path);
    expect([listed.json, listed.headers.get("x-total-count")]).toEqual([[made.json], "1"]);
    expect((await people.by("mira", "GET", one)).json).toEqual(made.json);
    const edited = await people.by("mira", "PATCH", one, { active: true, events: ["push"] });
    expect([edited.status, edited.json.active, edited.json.events]).toEqual([200, true, ["push"]]);
    const wrong = await people.by("mira", "POST", path, { type: "odd", config: {} });
    expect([wrong.status, wrong.json.message]).toEqual([422, "Invalid hook type: odd"]);
    expect((await people.by("mira", "DELETE", one)).status).toBe(204);
    expect((await people.by("mira", "DELETE", one)).status).toBe(404);
  });

  test("hooks of an owner are hidden from others under any address", async () => {
    const { json } = await people.by("mira", "POST", path, hook("y"));
    const one = `${path}/${json.id}`;
    const elsewhere = path === "/user/hooks" ? "/orgs/guild/hooks" : "/user/hooks";
    for (const [method, body] of [["GET"], ["PATCH", {}], ["DELETE"]] as const) {
      const status = async (user: string, address: string) =>
        (await people.by(user, method, address, body)).status;
      // The organization is visible to noah, his own hooks are others than mira's.
      expect(await status("noah", one)).toBe(owner === "a user" ? 404 : 403);
      expect(await status("mira", `${elsewhere}/${json.id}`)).toBe(404);
      expect((await people.api(method, `/admin/hooks/${json.id}`, body)).status).toBe(404);
      expect((await people.api(method, one, body, "")).status).toBe(401);
    }
    expect((await people.by("mira", "DELETE", one)).status).toBe(204);
  });

  test("an owner has at most fifty hooks", async () => {
    const ids: number[] = [];
    for (let count = 0; count < 50; count += 1)
      ids.push((await people.by("mira", "POST", path, hook("z"))).json.id);
    const more = await people.by("mira", "POST", path, hook("z"));
    expect([more.status, more.json.message]).toEqual([422, "an owner has at most 50 hooks"]);
    for (const id of ids) await people.by("mira", "DELETE", `${path}/${id}`);
  });
});

test("hooks of an owner fire for all repositories of the owner, and for no others", async () => {
  await people.by("mira", "POST", "/orgs/guild/hooks", hook("guild", ["repository", "issues"]));
  await people.by("mira", "POST", "/user/hooks", hook("mira", ["repository", "issues"]));
  await people.by("mira", "POST", "/orgs/guild/repos", { name: "hall" });
  await people.by("mira", "POST", "/user/repos", { name: "cabin" });
  await people.by("noah", "POST", "/user/repos", { name: "shed" });
  await people.by("mira", "POST", "/repos/guild/hall/issues", { title: "The gate squeaks" });
  const [ofGuild, ofIssue] = await deliveriesTo("guild", 2);
  expect(ofGuild).toMatchObject({
    event: "repository",
    target: "organization",
    json: { repository: { full_name: "guild/hall" } },
  });
  expect(ofIssue).toMatchObject({ event: "issues", json: { action: "opened" } });
  const [ofMira] = await deliveriesTo("mira", 1);
  expect(ofMira).toMatchObject({
    target: "user",
    json: { repository: { full_name: "mira/cabin" } },
  });
  const { json: hooks } = await people.by("mira", "GET", "/user/hooks");
  const log = `/user/hooks/${hooks[0].id}/deliveries`;
  const { json: logged } = await people.by("mira", "GET", log);
  expect(logged).toHaveLength(1);
  const one = await people.by("mira", "GET", `${log}/${logged[0].id}`);
  expect(JSON.parse(one.json.request.body)).toMatchObject({ action: "created" });
  expect((await people.by("mira", "POST", `${log}/${logged[0].id}/redeliver`)).status).toBe(201);
  await deliveriesTo("mira", 2);
});

test("hooks of owner and server fire for runs, jobs and the statuses that jobs report", async () => {
  const events = ["workflow_run", "workflow_job", "status"];
  await people.by("mira", "POST", "/user/hooks", hook("runs-owner", events));
  await people.api("POST", "/admin/hooks", {
    ...hook("runs-system", events),
    config: { url: `${receiver.url}/runs-system`, content_type: "json", is_system_webhook: "true" },
  });
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "works");
  await repository.create();
  await repository.push({
    "ci.yml": "name: CI\non: push\njobs: { a: { runs-on: works, steps: [{ run: x }] } }\n",
  });
  const run = await repository.waitForRuns(1);
  expect(await repository.work("SUCCESS")).toBe("a");
  for (const place of ["runs-owner", "runs-system"]) {
    // Three of the run, three of the job, three of its status.
    const all = await deliveriesTo(place, 9);
    const of = (event: string) => all.filter((each) => each.event === event);
    expect(
      of("workflow_run")
        .map(({ json }) => json.action)
        .toSorted(),
    ).toEqual(["completed", "in_progress", "requested"]);
    expect(of("workflow_job")).toHaveLength(3);
    const states = of("status");
    expect(states.map(({ json }) => json.state).toSorted()).toEqual([
      "pending",
      "pending",
      "success",
    ]);
    expect(states[0]?.json).toMatchObject({
      context: "CI / a (push)",
      sha: run["head_sha"],
      commit: { id: run["head_sha"], message: expect.stringContaining("change") },
      repository: { full_name: "mira/works" },
      sender: { login: "mira" },
    });
  }
});

test("the hooks of a deleted owner are deleted", async () => {
  await people.newUser("nora");
  const { json } = await people.by("nora", "POST", "/user/hooks", hook("nora"));
  expect((await people.api("DELETE", "/admin/users/nora?purge=true")).status).toBe(204);
  expect((await people.api("POST", "/admin/cron/cleanup_hook_task_table")).status).toBe(204);
  expect((await people.api("GET", `/admin/hooks/${json.id}`)).status).toBe(404);
});
