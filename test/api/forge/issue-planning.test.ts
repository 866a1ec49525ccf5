import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";

// Labels and milestones: of repositories, of organizations, and on issues.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function newRepository(owner: string, fields: object = {}): Promise<string> {
  return `/repos/${owner}/${await people.newRepository(owner, fields)}`;
}

const namesOf = (answer: { readonly json: { name: string }[] }) =>
  answer.json.map(({ name }) => name);

describe("a label", () => {
  test("a label is created, listed, changed and deleted", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const made = await by(mira, "POST", `${repo}/labels`, { name: "kind/bug", color: "#F00" });
    expect(made.status).toBe(201);
    expectWireShape("Label", made.json);
    expect(made.json).toMatchObject({ color: "ff0000", exclusive: false, is_archived: false });
    const { id } = made.json;
    const edit = { exclusive: true, is_archived: true, color: "00FF00", description: "Wrong" };
    const edited = await by(mira, "PATCH", `${repo}/labels/${id}`, edit);
    expect(edited.json).toMatchObject({ ...edit, color: "00ff00", name: "kind/bug" });
    const listed = await by(mira, "GET", `${repo}/labels`);
    expect(listed.json).toEqual([edited.json]);
    expect(listed.headers.get("x-total-count")).toBe("1");
    expect((await by(mira, "GET", `${repo}/labels/${id}`)).json).toEqual(edited.json);
    expect((await by(mira, "DELETE", `${repo}/labels/${id}`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${repo}/labels/${id}`)).status).toBe(204);
    expect((await by(mira, "GET", `${repo}/labels/${id}`)).status).toBe(404);
    expect((await by(mira, "PATCH", `${repo}/labels/${id}`, edit)).status).toBe(404);
  });

  test("a label is refused with an invalid colour and without a name", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    for (const body of [{ name: "a", color: "red" }, { color: "f00" }, { name: "a" }])
      expect((await by(mira, "POST", `${repo}/labels`, body)).status).toBe(422);
  });

  test("a label of a repository is changed by writers only, and hidden from callers who may not read the repository", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira, { private: true });
    const made = await by(mira, "POST", `${repo}/labels`, { name: "a", color: "ff0000" });
    await by(mira, "PUT", `${repo}/collaborators/${nora}`, { permission: "read" });
    const path = `${repo}/labels/${made.json.id}`;
    expect((await by(nora, "GET", `${repo}/labels`)).status).toBe(200);
    expect((await by(otto, "GET", `${repo}/labels`)).status).toBe(404);
    const label = { name: "b", color: "000000" };
    for (const [user, status] of [
      [nora, 403],
      [otto, 404],
    ] as const) {
      expect((await by(user, "POST", `${repo}/labels`, label)).status).toBe(status);
      expect((await by(user, "PATCH", path, label)).status).toBe(status);
      expect((await by(user, "DELETE", path)).status).toBe(status);
    }
    const other = await newRepository(mira);
    expect((await by(mira, "GET", `${other}/labels/${made.json.id}`)).status).toBe(404);
  });

  test("a label of an organization is used in all of its repositories, and changed by its owners only", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const org = `org${mira}`;
    await api("POST", `/admin/users/${mira}/orgs`, { username: org });
    const repo = await newRepository(org);
    const label = { name: "theirs", color: "123456" };
    expect((await by(nora, "POST", `/orgs/${org}/labels`, label)).status).toBe(403);
    const made = await by(mira, "POST", `/orgs/${org}/labels`, label);
    expect(made.status).toBe(201);
    expect(new URL(made.json.url).pathname).toBe(`/api/v1/orgs/${org}/labels/${made.json.id}`);
    const issue = await by(mira, "POST", `${repo}/issues`, { title: "x", labels: [made.json.id] });
    expect(issue.json.labels).toMatchObject([{ name: "theirs", url: made.json.url }]);
    expect((await by(mira, "GET", `${repo}/issues?labels=theirs`)).json).toHaveLength(1);
    expect(namesOf(await by(nora, "GET", `/orgs/${org}/labels`))).toEqual(["theirs"]);
    expect((await by(mira, "GET", `${repo}/labels`)).json).toEqual([]);
    const moved = await by(mira, "POST", `${repo}/transfer`, { new_owner: mira });
    expect(moved.status).toBe(202);
    const name = repo.split("/").at(-1);
    expect((await by(mira, "GET", `/repos/${mira}/${name}/issues/1`)).json.labels).toEqual([]);
    expect((await by(mira, "DELETE", `/orgs/${org}/labels/${made.json.id}`)).status).toBe(204);
  });
});

describe("the labels of an issue", () => {
  test("labels of an issue are added, replaced, removed and cleared, by id and by name", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    const ids: number[] = [];
    for (const name of ["a", "b", "c"])
      ids.push((await by(mira, "POST", `${repo}/labels`, { name, color: "ff0000" })).json.id);
    const labels = `${repo}/issues/1/labels`;
    expect(
      namesOf(await by(mira, "POST", labels, { labels: [ids[0], "b", "none", 99_999] })),
    ).toEqual(["a", "b"]);
    expect(namesOf(await by(mira, "POST", labels, { labels: ["b"] }))).toEqual(["a", "b"]);
    expect(namesOf(await by(mira, "PUT", labels, { labels: ["c", "a"] }))).toEqual(["a", "c"]);
    expect((await by(mira, "DELETE", `${labels}/${ids[2]}`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${labels}/99999`)).status).toBe(422);
    expect(namesOf(await by(mira, "GET", labels))).toEqual(["a"]);
    expect((await by(mira, "DELETE", labels)).status).toBe(204);
    expect((await by(mira, "GET", labels)).json).toEqual([]);
    expect((await by(mira, "POST", labels, { labels: [true] })).status).toBe(422);
  });

  test("an issue has one label of an exclusive scope: a new one replaces the other", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    for (const name of ["size/s", "size/m", "size", "kind/bug"])
      await by(mira, "POST", `${repo}/labels`, { name, color: "ff0000", exclusive: true });
    const labels = `${repo}/issues/1/labels`;
    await by(mira, "POST", labels, { labels: ["size/s", "size", "kind/bug"] });
    expect(namesOf(await by(mira, "POST", labels, { labels: ["size/m"] }))).toEqual([
      "kind/bug",
      "size",
      "size/m",
    ]);
    expect(namesOf(await by(mira, "PUT", labels, { labels: ["size/s", "size/m"] }))).toEqual([
      "size/m",
    ]);
  });

  test("labels of an issue are changed by writers only", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(nora, "POST", `${repo}/issues`, { title: "x" });
    await by(mira, "POST", `${repo}/labels`, { name: "a", color: "ff0000" });
    for (const method of ["POST", "PUT"])
      expect((await by(nora, method, `${repo}/issues/1/labels`, { labels: ["a"] })).status).toBe(
        403,
      );
    expect((await by(nora, "DELETE", `${repo}/issues/1/labels`)).status).toBe(403);
    const foreign = await newRepository(nora);
    await by(nora, "POST", `${foreign}/issues`, { title: "x" });
    const body = { labels: [1] };
    expect((await by(nora, "POST", `${foreign}/issues/1/labels`, body)).json).toEqual([]);
  });
});

describe("a milestone", () => {
  test("a milestone counts its issues, is found by title, closed and deleted", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const made = await by(mira, "POST", `${repo}/milestones`, {
      title: "First release",
      due_on: "2027-01-02T03:04:05+02:00",
    });
    expect(made.status).toBe(201);
    const nulls = { closed_at: undefined };
    expectWireShape("Milestone", { ...made.json, ...nulls });
    expect(made.json).toMatchObject({ state: "open", due_on: "2027-01-02T23:59:59Z" });
    const { id } = made.json;
    await by(mira, "POST", `${repo}/issues`, { title: "a", milestone: id });
    await by(mira, "POST", `${repo}/issues`, { title: "b" });
    const issue = await by(mira, "PATCH", `${repo}/issues/2`, { milestone: id, state: "closed" });
    expect(issue.json.milestone).toMatchObject({ id, open_issues: 1, closed_issues: 1 });
    const byTitle = await by(mira, "GET", `${repo}/milestones/First%20release`);
    expect(byTitle.json).toMatchObject({ id, open_issues: 1, closed_issues: 1 });
    expect((await by(mira, "GET", `${repo}/issues?milestones=First release`)).json).toHaveLength(1);
    const closed = await by(mira, "PATCH", `${repo}/milestones/${id}`, { state: "closed" });
    expect(closed.json.state).toBe("closed");
    expect(closed.json.closed_at).not.toBeNull();
    expect((await by(mira, "GET", `${repo}/milestones`)).json).toEqual([]);
    expect((await by(mira, "GET", `${repo}/milestones?state=all&name=FIRST`)).json).toHaveLength(1);
    expect(
      (await by(mira, "PATCH", `${repo}/issues/1`, { milestone: 0 })).json.milestone,
    ).toBeNull();
    expect((await by(mira, "DELETE", `${repo}/milestones/${id}`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${repo}/milestones/${id}`)).status).toBe(404);
    expect((await by(mira, "GET", `${repo}/issues/2`)).json.milestone).toBeNull();
  });

  test("a zero time clears the due date of a milestone, and an absent or null member keeps it", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const due_on = "2027-01-02T00:00:00Z";
    const { id } = (await by(mira, "POST", `${repo}/milestones`, { title: "v1", due_on })).json;
    const edit = async (body: object) =>
      (await by(mira, "PATCH", `${repo}/milestones/${id}`, body)).json.due_on;
    expect(await edit({ state: "closed", due_on: null })).toBe("2027-01-02T23:59:59Z");
    expect(await edit({ title: "v2" })).toBe("2027-01-02T23:59:59Z");
    expect(await edit({ due_on: "0001-01-01T00:00:00Z" })).toBeNull();
  });

  test("a zero time clears the due date of an issue, and a null member keeps it", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const due_date = "2027-01-02T00:00:00Z";
    await by(mira, "POST", `${repo}/issues`, { title: "a", due_date });
    const edit = async (body: object) =>
      (await by(mira, "PATCH", `${repo}/issues/1`, body)).json.due_date;
    expect(await edit({ title: "b", due_date: null })).toBe("2027-01-02T23:59:59Z");
    expect(await edit({ due_date: "0001-01-01T00:00:00Z" })).toBeNull();
    const zero = { title: "c", due_date: "0001-01-01T00:00:00Z" };
    expect((await by(mira, "POST", `${repo}/issues`, zero)).json.due_date).toBeNull();
  });

  test("milestones are listed by their due dates, those without one last", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    for (const [title, due] of [
      ["never", null],
      ["later", "2027-02-01T00:00:00Z"],
      ["sooner", "2027-01-01T00:00:00Z"],
    ])
      await by(mira, "POST", `${repo}/milestones`, { title, due_on: due });
    const listed = await by(mira, "GET", `${repo}/milestones`);
    expect(listed.json.map(({ title }: { title: string }) => title)).toEqual([
      "sooner",
      "later",
      "never",
    ]);
  });

  test("a milestone of another repository and changes by readers are refused", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const [repo, other] = [await newRepository(mira), await newRepository(mira)];
    const made = await by(mira, "POST", `${other}/milestones`, { title: "theirs" });
    const { id } = made.json;
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    expect((await by(mira, "POST", `${repo}/issues`, { title: "y", milestone: id })).status).toBe(
      404,
    );
    expect((await by(mira, "PATCH", `${repo}/issues/1`, { milestone: id })).status).toBe(404);
    expect((await by(mira, "GET", `${repo}/milestones/${id}`)).status).toBe(404);
    const path = `${other}/milestones/${id}`;
    expect((await by(nora, "POST", `${other}/milestones`, { title: "x" })).status).toBe(403);
    expect((await by(nora, "PATCH", path, { title: "x" })).status).toBe(403);
    expect((await by(nora, "DELETE", path)).status).toBe(403);
    const asReader = await by(nora, "POST", `${other}/issues`, { title: "x", milestone: id });
    expect(asReader.json.milestone).toBeNull();
  });
});
