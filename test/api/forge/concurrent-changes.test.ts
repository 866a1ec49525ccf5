import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Concurrent requests that decide by what others change: each test sends them at once and expects the result of some order.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser } = people;
const AT_ONCE = 20;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Sends requests at once and returns their statuses, sorted. */
async function statusesOf(
  send: (index: number) => Promise<TestAnswer>,
  count = AT_ONCE,
): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => send(index)));
  return answers.map(({ status }) => status).toSorted((a, b) => a - b);
}

const times = (status: number, count: number) => Array<number>(count).fill(status);

async function newRepository(fields: object = {}) {
  const owner = await newUser();
  const repo = `/repos/${owner}/${await people.newRepository(owner, fields)}`;
  return { owner, repo };
}

async function eventsOf(user: string, issue: string): Promise<string[]> {
  const events = await by(user, "GET", `${issue}/timeline?limit=100`);
  return events.json.map(({ type }: { type: string }) => type);
}

describe("an issue", () => {
  test("an issue that twenty requests close at once has one event and one count", async () => {
    const { owner, repo } = await newRepository();
    await by(owner, "POST", `${repo}/issues`, { title: "Gate" });
    const issue = `${repo}/issues/1`;
    expect(await statusesOf(() => by(owner, "PATCH", issue, { state: "closed" }))).toEqual(
      times(201, AT_ONCE),
    );
    expect(await eventsOf(owner, issue)).toEqual(["close"]);
    expect((await by(owner, "GET", repo)).json.open_issues_count).toBe(0);
    await statusesOf(() => by(owner, "PATCH", issue, { state: "open", title: "Door" }));
    expect(await eventsOf(owner, issue)).toEqual(["close", "change_title", "reopen"]);
    expect((await by(owner, "GET", repo)).json.open_issues_count).toBe(1);
  });

  test("a version of a body is replaced by one of twenty requests", async () => {
    const { owner, repo } = await newRepository();
    await by(owner, "POST", `${repo}/issues`, { title: "Gate", body: "old" });
    const edit = (index: number) =>
      by(owner, "PATCH", `${repo}/issues/1`, { body: `new ${index}`, content_version: 0 });
    expect(await statusesOf(edit)).toEqual([201, ...times(409, AT_ONCE - 1)]);
  });

  test("an assignee who is named several times gets one event", async () => {
    const { owner, repo } = await newRepository();
    const nora = await newUser();
    const assignees = [nora, nora, nora.toUpperCase()];
    await by(owner, "POST", `${repo}/issues`, { title: "Gate", assignees });
    const issue = `${repo}/issues/1`;
    expect((await by(owner, "GET", issue)).json.assignees).toHaveLength(1);
    expect(await eventsOf(owner, issue)).toEqual(["assignees"]);
    await by(owner, "PATCH", issue, { assignees: [] });
    await by(owner, "POST", `${issue}/assignees`, { assignees });
    await by(owner, "PATCH", issue, { assignees });
    expect(await eventsOf(owner, issue)).toEqual(times(0, 3).map(() => "assignees"));
  });

  test("an issue gets at most the allowed number of files, however many arrive at once", async () => {
    const { owner, repo } = await newRepository();
    await by(owner, "POST", `${repo}/issues`, { title: "Gate" });
    const upload = () => {
      const form = new FormData();
      form.append("attachment", new File(["hello"], "notes.txt"));
      const path = `/api/v1${repo}/issues/1/assets`;
      return daemon.request(path, { method: "POST", body: form, token: people.tokenOf(owner) });
    };
    expect(await statusesOf(upload, 40)).toEqual([...times(201, 20), ...times(422, 20)]);
    expect((await by(owner, "GET", `${repo}/issues/1/assets`)).json).toHaveLength(20);
  });

  test("three of twenty issues are pinned, and one stopwatch is started", async () => {
    const { owner, repo } = await newRepository();
    for (let index = 0; index < AT_ONCE; index++)
      await by(owner, "POST", `${repo}/issues`, { title: `Gate ${index}` });
    const pin = (index: number) => by(owner, "POST", `${repo}/issues/${index + 1}/pin`);
    expect(await statusesOf(pin)).toEqual([...times(204, 3), ...times(400, AT_ONCE - 3)]);
    const start = () => by(owner, "POST", `${repo}/issues/1/stopwatch/start`);
    expect(await statusesOf(start)).toEqual([201, ...times(409, AT_ONCE - 1)]);
    const stop = () => by(owner, "POST", `${repo}/issues/1/stopwatch/stop`);
    expect(await statusesOf(stop)).toEqual([201, ...times(409, AT_ONCE - 1)]);
    expect((await by(owner, "GET", `${repo}/issues/1/times`)).json).toHaveLength(1);
  });

  test("a time of no seconds can be reset, and a second time there is nothing to reset", async () => {
    const { owner, repo } = await newRepository();
    await by(owner, "POST", `${repo}/issues`, { title: "Gate" });
    await by(owner, "POST", `${repo}/issues/1/stopwatch/start`);
    await by(owner, "POST", `${repo}/issues/1/stopwatch/stop`);
    expect((await by(owner, "GET", `${repo}/issues/1/times`)).json).toMatchObject([{ time: 0 }]);
    const reset = () => by(owner, "DELETE", `${repo}/issues/1/times`);
    expect(await statusesOf(reset)).toEqual([204, ...times(404, AT_ONCE - 1)]);
  });
});

describe("rules and teams", () => {
  test("edits of different switches of a branch rule at once all remain", async () => {
    const { owner, repo } = await newRepository({ auto_init: true });
    const rule = { rule_name: "main", enable_push: false };
    const create = () => by(owner, "POST", `${repo}/branch_protections`, rule);
    expect(await statusesOf(create)).toEqual([201, ...times(403, AT_ONCE - 1)]);
    const flags = [
      "enable_push",
      "enable_status_check",
      "ignore_stale_approvals",
      "block_on_rejected_reviews",
      "dismiss_stale_approvals",
      "block_on_outdated_branch",
    ] as const;
    const edit = (index: number) =>
      by(owner, "PATCH", `${repo}/branch_protections/main`, { [flags[index] ?? ""]: true });
    expect(await statusesOf(edit, flags.length)).toEqual(times(200, flags.length));
    const all = Object.fromEntries(flags.map((flag) => [flag, true]));
    const names = { push_whitelist_usernames: [owner, owner.toUpperCase(), owner] };
    const listed = await by(owner, "PATCH", `${repo}/branch_protections/main`, names);
    expect(listed.json.push_whitelist_usernames).toEqual([owner]);
    expect((await by(owner, "GET", `${repo}/branch_protections/main`)).json).toMatchObject(all);
  });

  test("one name is given to one of twenty teams, labels of a scope and members stay whole", async () => {
    const olga = await newUser();
    const org = `works-${olga}`;
    await by(olga, "POST", "/orgs", { username: org });
    const fields = { name: "coders", permission: "write", units: ["repo.code"] };
    const create = () => by(olga, "POST", `/orgs/${org}/teams`, fields);
    expect(await statusesOf(create)).toEqual([201, ...times(422, AT_ONCE - 1)]);
    // Of two owners who leave at once one remains.
    const pia = await newUser();
    const [owners] = (await by(olga, "GET", `/orgs/${org}/teams`)).json;
    await by(olga, "PUT", `/teams/${owners.id}/members/${pia}`);
    const leave = (index: number) =>
      by([olga, pia][index] ?? "", "DELETE", `/orgs/${org}/members/${[olga, pia][index]}`);
    expect(await statusesOf(leave, 2)).toEqual([204, 422]);
  });

  test("an owner gets no more repositories than allowed, by creation and by transfer at once", async () => {
    const olga = await newUser();
    const org = `works-${olga}`;
    await by(olga, "POST", "/orgs", { username: org });
    for (const name of ["a", "b", "c", "d"]) await by(olga, "POST", `/orgs/${org}/repos`, { name });
    await api("PATCH", `/admin/users/${olga}`, { login_name: olga, max_repo_creation: 2 });
    const transfer = (index: number) =>
      by(olga, "POST", `/repos/${org}/${["a", "b", "c", "d"][index]}/transfer`, {
        new_owner: olga,
      });
    expect(await statusesOf(transfer, 4)).toEqual([202, 202, 403, 403]);
    expect((await by(olga, "POST", "/user/repos", { name: "e" })).status).toBe(403);
    expect((await by(olga, "GET", `/users/${olga}/repos`)).json).toHaveLength(2);
  });
});

describe("a right that ends", () => {
  /** A repository of an organization whose reader `rita` of one team watches it and is assigned to its issue. */
  async function newShed(fields: object = {}, team: object = {}) {
    const [olga, rita] = [await newUser(), await newUser()];
    const org = `works-${olga}`;
    await by(olga, "POST", "/orgs", { username: org });
    await by(olga, "POST", `/orgs/${org}/repos`, { name: "shed", private: true, ...fields });
    const repo = `/repos/${org}/shed`;
    const units = { "repo.code": "read", "repo.issues": "read" };
    const made = await by(olga, "POST", `/orgs/${org}/teams`, {
      name: "readers",
      units_map: units,
      ...team,
    });
    const { id } = made.json;
    await by(olga, "PUT", `/teams/${id}/repos/${org}/shed`);
    await by(olga, "PUT", `/teams/${id}/members/${rita}`);
    expect((await by(rita, "PUT", `${repo}/subscription`)).status).toBe(200);
    const issue = await by(olga, "POST", `${repo}/issues`, { title: "Roof", assignees: [rita] });
    expect(issue.json.assignees).toMatchObject([{ login: rita }]);
    return { olga, rita, org, repo, team: `/teams/${id}` };
  }

  async function marksOf(user: string, repo: string) {
    const watchers = (await by(user, "GET", `${repo}/subscribers`)).json;
    const { assignees } = (await by(user, "GET", `${repo}/issues/1`)).json;
    return {
      watchers: watchers.map(({ login }: { login: string }) => login),
      assignees: (assignees ?? []).map(({ login }: { login: string }) => login),
    };
  }

  test("a narrowed team leaves neither watchers nor assignees who may not read", async () => {
    const { olga, rita, repo, team } = await newShed();
    await by(olga, "PATCH", team, { units_map: { "repo.code": "read", "repo.issues": "none" } });
    expect(await marksOf(olga, repo)).toEqual({ watchers: [olga, rita], assignees: [] });
    await by(olga, "PATCH", team, { units_map: { "repo.wiki": "read" } });
    expect((await marksOf(olga, repo)).watchers).toEqual([olga, rita]);
    await by(olga, "DELETE", `${repo}/teams/readers`);
    expect(await marksOf(olga, repo)).toEqual({ watchers: [olga], assignees: [] });
  });

  test("a team keeps and shows the units of none, and only none takes every right", async () => {
    const { olga, rita, org, repo, team } = await newShed();
    const patch = (units_map: object) => by(olga, "PATCH", team, { units_map });
    const map = { "repo.code": "none", "repo.issues": "write" };
    expect((await patch(map)).json).toMatchObject({
      units_map: map,
      units: ["repo.code", "repo.issues"],
    });
    expect((await by(rita, "GET", `${repo}/issues/1`)).status).toBe(200);
    expect((await by(rita, "GET", `${repo}/contents`)).status).toBe(404);
    const nothing = { "repo.code": "none", "repo.issues": "none" };
    expect((await patch(nothing)).json.units_map).toEqual(nothing);
    expect((await by(olga, "GET", team)).json.units_map).toEqual(nothing);
    for (const path of ["", "/issues", "/issues/1", "/contents", "/labels"])
      expect((await by(rita, "GET", repo + path)).status, path).toBe(404);
    expect((await by(rita, "GET", "/user/repos")).json).toEqual([]);
    expect(await marksOf(olga, repo)).toEqual({ watchers: [olga], assignees: [] });
    // A member without rights does not watch a new repository.
    await by(olga, "PATCH", team, { includes_all_repositories: true });
    await by(olga, "POST", `/orgs/${org}/repos`, { name: "barn", private: true });
    const watchers = (await by(olga, "GET", `/repos/${org}/barn/subscribers`)).json;
    expect(watchers).toMatchObject([{ login: olga }]);
    for (const word of ["constructor", "toString", "all"])
      expect((await patch({ "repo.code": word })).status).toBe(422);
    const made = { name: "idle", units_map: nothing };
    expect(await by(olga, "POST", `/orgs/${org}/teams`, made)).toMatchObject({
      status: 201,
      json: { units_map: nothing },
    });
  });

  test("a team that loses a repository, or all of them, leaves neither watchers nor assignees", async () => {
    const one = await newShed();
    await by(one.olga, "DELETE", `${one.team}/repos/${one.org}/shed`);
    expect(await marksOf(one.olga, one.repo)).toEqual({ watchers: [one.olga], assignees: [] });
    const all = await newShed({}, { includes_all_repositories: true });
    await by(all.olga, "DELETE", `${all.team}/repos/${all.org}/shed`);
    await by(all.olga, "PATCH", all.team, { includes_all_repositories: false });
    expect(await marksOf(all.olga, all.repo)).toEqual({ watchers: [all.olga], assignees: [] });
  });

  test("a transfer leaves neither watchers nor assignees who may not read", async () => {
    const { olga, rita, repo } = await newShed();
    expect((await by(olga, "POST", `${repo}/transfer`, { new_owner: olga })).status).toBe(202);
    const moved = `/repos/${olga}/shed`;
    expect((await by(rita, "GET", moved)).status).toBe(404);
    expect(await marksOf(olga, moved)).toEqual({ watchers: [olga], assignees: [] });
  });

  test("a repository that is made private, and an organization, keep readers only", async () => {
    const { olga, rita, org, repo } = await newShed({ private: false });
    const [stranger, admin] = [await newUser(), await newUser()];
    await api("PATCH", `/admin/users/${admin}`, { login_name: admin, admin: true });
    for (const user of [stranger, admin]) await by(user, "PUT", `${repo}/subscription`);
    await by(olga, "PATCH", `${repo}/issues/1`, { assignees: [rita, stranger, admin] });
    await by(olga, "PATCH", repo, { private: true });
    expect(await marksOf(olga, repo)).toEqual({
      watchers: [olga, rita, admin].toSorted(),
      assignees: [rita, admin],
    });
    // A demoted administrator loses what only the role gave.
    await api("PATCH", `/admin/users/${admin}`, { login_name: admin, admin: false });
    expect((await marksOf(olga, repo)).assignees).toEqual([rita]);
    await by(olga, "PATCH", repo, { private: false });
    await by(stranger, "PUT", `${repo}/subscription`);
    await by(olga, "PATCH", `/orgs/${org}`, { visibility: "private" });
    expect((await marksOf(olga, repo)).watchers).toEqual([olga, rita]);
  });

  test("members of a team that administers a repository may transfer and delete it", async () => {
    const { olga, rita, org, repo, team } = await newShed();
    await by(olga, "POST", `/orgs/${org}/repos`, { name: "barn", private: true });
    expect((await by(rita, "DELETE", repo)).status).toBe(403);
    await by(olga, "PATCH", team, { permission: "admin" });
    expect((await by(rita, "DELETE", `/repos/${org}/barn`)).status).toBe(404);
    expect((await by(rita, "POST", `${repo}/transfer`, { new_owner: rita })).status).toBe(202);
    expect((await by(rita, "GET", `/repos/${rita}/shed`)).status).toBe(200);
    await by(rita, "POST", `/repos/${rita}/shed/transfer`, { new_owner: org });
    await by(olga, "POST", `/repos/${rita}/shed/transfer/accept`);
    expect((await by(olga, "PUT", `${team}/repos/${org}/shed`)).status).toBe(204);
    expect((await by(rita, "DELETE", repo)).status).toBe(204);
    expect((await by(olga, "GET", repo)).status).toBe(404);
  });
});

describe("lists", () => {
  test("titles are found by capitals and small letters of any alphabet", async () => {
    const { owner, repo } = await newRepository();
    const titles = ["ÜBERSICHT Größe", "Ёлка ПРАЗДНИК", "ΟΔΟΣ", "plain Roof"];
    for (const title of titles) {
      await by(owner, "POST", `${repo}/milestones`, { title });
      await by(owner, "POST", `${repo}/issues`, { title, body: `${title}!` });
    }
    for (const [term, title] of [
      ["übersicht", titles[0]],
      ["Übersicht GRÖß", titles[0]],
      ["ёЛКА праздник", titles[1]],
      ["οδος", titles[2]],
      ["ROOF", titles[3]],
    ] as const) {
      const query = encodeURIComponent(term);
      const milestones = (await by(owner, "GET", `${repo}/milestones?name=${query}`)).json;
      expect(milestones).toMatchObject([{ title }]);
      const issues = (await by(owner, "GET", `${repo}/issues?q=${query}`)).json;
      expect(issues).toMatchObject([{ title }]);
    }
  });

  test("a label that repository and organization both have finds the issues of either", async () => {
    const olga = await newUser();
    const org = `works-${olga}`;
    await by(olga, "POST", "/orgs", { username: org });
    await by(olga, "POST", `/orgs/${org}/repos`, { name: "shed" });
    const repo = `/repos/${org}/shed`;
    const label = { name: "bug", color: "ff0000" };
    const ofOrganization = (await by(olga, "POST", `/orgs/${org}/labels`, label)).json.id;
    const ofRepository = (await by(olga, "POST", `${repo}/labels`, label)).json.id;
    const urgent = (await by(olga, "POST", `${repo}/labels`, { ...label, name: "urgent" })).json.id;
    const open = (title: string, labels: number[]) =>
      by(olga, "POST", `${repo}/issues`, { title, labels });
    await open("one", [ofOrganization]);
    await open("two", [ofRepository, urgent]);
    await open("three", [urgent]);
    const find = async (labels: string) =>
      (await by(olga, "GET", `${repo}/issues?labels=${labels}`)).json
        .map(({ title }: { title: string }) => title)
        .toSorted();
    expect(await find("bug")).toEqual(["one", "two"]);
    expect(await find("bug,urgent")).toEqual(["two"]);
    expect(await find("bug,none")).toEqual(["one", "two"]);
  });

  test("the caller's times are paged and counted among those that the caller may read", async () => {
    const [first, second] = [await newRepository(), await newRepository()];
    const nora = await newUser();
    const put = (repo: string, owner: string) =>
      by(owner, "PUT", `${repo}/collaborators/${nora}`, { permission: "write" });
    for (const { owner, repo } of [first, second]) {
      await put(repo, owner);
      await by(owner, "POST", `${repo}/issues`, { title: "Gate" });
      for (let seconds = 1; seconds <= 3; seconds++)
        await by(nora, "POST", `${repo}/issues/1/times`, { time: seconds });
    }
    await by(first.owner, "PATCH", first.repo, { private: true });
    await by(first.owner, "DELETE", `${first.repo}/collaborators/${nora}`);
    const page = await by(nora, "GET", "/user/times?limit=2");
    expect(page.json).toMatchObject([{ time: 1 }, { time: 2 }]);
    expect(page.headers.get("x-total-count")).toBe("3");
  });
});
