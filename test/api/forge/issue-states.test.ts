import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Operations on issues besides edits: search, timeline, locks, pins, reactions, deletion.

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

describe("the timeline of an issue", () => {
  test("a timeline has comments and an event for each change, oldest first, in pages", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/labels`, { name: "bug", color: "ff0000" });
    const { id } = (await by(mira, "POST", `${repo}/milestones`, { title: "1.0" })).json;
    await by(mira, "POST", `${repo}/issues`, { title: "First" });
    const issue = `${repo}/issues/1`;
    await by(nora, "POST", `${issue}/comments`, { body: "Seen" });
    await by(mira, "POST", `${issue}/labels`, { labels: ["bug"] });
    await by(mira, "PATCH", issue, { title: "Second", milestone: id, assignees: [nora] });
    await by(mira, "POST", `${issue}/deadline`, { due_date: "2027-01-02T00:00:00Z" });
    await by(mira, "DELETE", `${issue}/labels`);
    await by(mira, "PATCH", issue, { state: "closed" });
    const { json } = await by(nora, "GET", `${issue}/timeline`);
    const types = json.map((entry: Record<string, unknown>) => entry["type"]);
    expect(types).toEqual([
      "comment",
      "label",
      "change_title",
      "assignees",
      "milestone",
      "added_deadline",
      "label",
      "close",
    ]);
    expect(json[0]).toMatchObject({ body: "Seen", user: { login: nora } });
    expect(json[1]).toMatchObject({ body: "1", label: { name: "bug", color: "ff0000" } });
    expect(json[2]).toMatchObject({ old_title: "First", new_title: "Second" });
    expect(json[3]).toMatchObject({ assignee: { login: nora }, removed_assignee: false });
    expect(json[4]).toMatchObject({ old_milestone: null, milestone: { title: "1.0" } });
    expect(json[5]).toMatchObject({ body: "2027-01-02" });
    expect(json[6]).toMatchObject({ body: "", label: { name: "bug" } });
    const second = await by(nora, "GET", `${issue}/timeline?limit=3&page=2`);
    expect(second.json).toEqual(json.slice(3, 6));
    expect(second.headers.get("x-total-count")).toBe("8");
    expect((await by(nora, "GET", `${issue}/comments`)).json).toHaveLength(1);
    expect((await by(nora, "GET", issue)).json.comments).toBe(1);
    const event = json[1].id;
    // An entry that is no comment, as in Gitea.
    expect((await by(mira, "GET", `${repo}/issues/comments/${event}`)).status).toBe(204);
    expect((await by(mira, "GET", `${repo}/issues/comments/999999`)).status).toBe(404);
    expect((await by(mira, "DELETE", `${repo}/issues/comments/${event}`)).status).toBe(404);
  });

  test("a timeline keeps the events of a purged user without the user's comments", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "PUT", `${repo}/collaborators/${nora}`, { permission: "write" });
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    await by(nora, "POST", `${repo}/issues/1/comments`, { body: "Bye" });
    await by(nora, "PATCH", `${repo}/issues/1`, { state: "closed" });
    expect((await api("DELETE", `/admin/users/${nora}?purge=true`)).status).toBe(204);
    const { json } = await by(mira, "GET", `${repo}/issues/1/timeline`);
    expect(json).toMatchObject([{ type: "close", user: { login: "Ghost" } }]);
    expect((await by(mira, "GET", `${repo}/issues/1`)).json.comments).toBe(0);
  });
});

describe("a locked issue", () => {
  test("a locked issue accepts comments and reactions of writers only", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(nora, "POST", `${repo}/issues`, { title: "x" });
    const issue = `${repo}/issues/1`;
    expect((await by(nora, "PUT", `${issue}/lock`, {})).status).toBe(403);
    expect((await by(mira, "PUT", `${issue}/lock`, { lock_reason: "spam" })).status).toBe(204);
    expect((await by(nora, "GET", issue)).json.is_locked).toBe(true);
    expect((await by(nora, "POST", `${issue}/comments`, { body: "no" })).status).toBe(403);
    expect((await by(nora, "POST", `${issue}/reactions`, { content: "+1" })).status).toBe(403);
    expect((await by(mira, "POST", `${issue}/comments`, { body: "yes" })).status).toBe(201);
    expect((await by(mira, "DELETE", `${issue}/lock`)).status).toBe(204);
    expect((await by(nora, "POST", `${issue}/comments`, { body: "thanks" })).status).toBe(201);
    const { json } = await by(nora, "GET", `${issue}/timeline`);
    expect(json).toMatchObject([
      { type: "lock", body: "spam" },
      { type: "comment" },
      { type: "unlock" },
      { type: "comment" },
    ]);
  });
});

describe("reactions", () => {
  test("reactions to an issue and a comment are added once, listed and removed", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    const comment = await by(mira, "POST", `${repo}/issues/1/comments`, { body: "y" });
    for (const path of [
      `${repo}/issues/1/reactions`,
      `${repo}/issues/comments/${comment.json.id}/reactions`,
    ]) {
      const first = await by(nora, "POST", path, { content: "heart" });
      expect(first.status).toBe(201);
      expect(first.json).toMatchObject({ content: "heart", user: { login: nora } });
      expect((await by(nora, "POST", path, { content: "heart" })).status).toBe(200);
      await by(mira, "POST", path, { content: "heart" });
      expect((await by(nora, "POST", path, { content: "thumb" })).status).toBe(403);
      expect((await by(mira, "GET", path)).json).toHaveLength(2);
      expect((await by(nora, "DELETE", path, { content: "heart" })).status).toBe(200);
      expect((await by(nora, "GET", path)).json).toMatchObject([{ user: { login: mira } }]);
    }
  });
});

describe("pins", () => {
  test("at most three issues are pinned, in an order, by administrators only", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    for (const title of ["a", "b", "c", "d"]) await by(mira, "POST", `${repo}/issues`, { title });
    const pin = (number: number) => by(mira, "POST", `${repo}/issues/${number}/pin`);
    const pinned = async () =>
      (await by(nora, "GET", `${repo}/issues/pinned`)).json.map(
        ({ number, pin_order: order }: { number: number; pin_order: number }) => [number, order],
      );
    expect((await by(nora, "POST", `${repo}/issues/1/pin`)).status).toBe(403);
    for (const number of [1, 2, 3, 3]) expect((await pin(number)).status).toBe(204);
    expect((await pin(4)).status).toBe(400);
    expect((await by(nora, "GET", `${repo}/new_pin_allowed`)).json.issues).toBe(false);
    expect((await by(mira, "PATCH", `${repo}/issues/3/pin/1`)).status).toBe(204);
    expect(await pinned()).toEqual([
      [3, 1],
      [1, 2],
      [2, 3],
    ]);
    expect((await by(mira, "DELETE", `${repo}/issues/1/pin`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${repo}/issues/3`)).status).toBe(204);
    expect(await pinned()).toEqual([[2, 1]]);
  });
});

describe("a deleted issue", () => {
  test("deleting an issue deletes its comments and threads, and corrects the counts", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(nora, "POST", `${repo}/issues`, { title: "x", body: `@${mira}` });
    await expect
      .poll(async () => (await by(mira, "GET", "/notifications?subject-type=issue")).json.length)
      .toBe(1);
    const unread = async () => (await by(mira, "GET", "/notifications/new")).json.new;
    const before = await unread();
    expect((await by(nora, "DELETE", `${repo}/issues/1`)).status).toBe(403);
    expect((await by(mira, "DELETE", `${repo}/issues/1`)).status).toBe(204);
    expect((await by(mira, "GET", `${repo}/issues/1`)).status).toBe(404);
    expect(await unread()).toBe(before - 1);
    expect((await by(mira, "GET", repo)).json.open_issues_count).toBe(0);
    expect((await by(mira, "POST", `${repo}/issues`, { title: "y" })).json.number).toBe(2);
  });

  test("a comment is deleted by its author or a writer", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "x" });
    const made = await by(nora, "POST", `${repo}/issues/1/comments`, { body: "y" });
    const path = `${repo}/issues/comments/${made.json.id}`;
    expect((await by(otto, "DELETE", path)).status).toBe(403);
    expect((await by(mira, "GET", `${repo}/issues/comments`)).json).toHaveLength(1);
    expect((await by(nora, "DELETE", path)).status).toBe(204);
    expect((await by(nora, "DELETE", path)).status).toBe(404);
    expect((await by(mira, "GET", `${repo}/issues/1`)).json.comments).toBe(0);
  });
});

describe("the search across repositories", () => {
  test("the search of issues finds only those that the caller may read, by every filter", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const [open, hidden, off] = [
      await newRepository(mira),
      await newRepository(mira, { private: true }),
      await newRepository(mira),
    ];
    const word = `needle${mira}`;
    await by(mira, "POST", `${open}/labels`, { name: word, color: "ff0000" });
    await by(mira, "POST", `${open}/milestones`, { title: word });
    await by(nora, "POST", `${open}/issues`, { title: `${word} public` });
    await by(mira, "POST", `${hidden}/issues`, { title: `${word} hidden`, assignees: [mira] });
    await by(mira, "POST", `${off}/issues`, { title: `${word} off` });
    await by(mira, "PATCH", off, { has_issues: false });
    await by(mira, "POST", `${open}/issues/1/labels`, { labels: [word] });
    const { id } = (await by(mira, "GET", `${open}/milestones/${word}`)).json;
    await by(mira, "PATCH", `${open}/issues/1`, { milestone: id });
    const find = async (user: string, query = "") => {
      const { json } = await by(user, "GET", `/repos/issues/search?q=${word}${query}`);
      return json.map(({ title }: { title: string }) => title.split(" ")[1]);
    };
    expect(await find(mira)).toEqual(["hidden", "public"]);
    expect(await find(otto)).toEqual(["public"]);
    const anonymous = await api("GET", `/repos/issues/search?q=${word}`, undefined, "");
    expect(anonymous.json).toHaveLength(1);
    expect(await find(mira, "&assigned=true")).toEqual(["hidden"]);
    expect(await find(nora, "&created=true")).toEqual(["public"]);
    expect(await find(mira, `&labels=${word}`)).toEqual(["public"]);
    expect(await find(mira, `&milestones=${word}`)).toEqual(["public"]);
    expect(await find(mira, `&owner=${mira}`)).toEqual(["hidden", "public"]);
    expect(await find(mira, `&owner=${nora}`)).toEqual([]);
    expect(await find(mira, "&type=pulls")).toEqual([]);
    const repository = (await by(mira, "GET", open)).json.id;
    expect(await find(mira, `&priority_repo_id=${repository}`)).toEqual(["public", "hidden"]);
    const token = await people.newToken(mira, ["public-only", "read:issue"]);
    const narrow = await api("GET", `/repos/issues/search?q=${word}`, undefined, token);
    expect(narrow.json).toHaveLength(1);
    expect((await by(mira, "GET", "/repos/issues/search?owner=nobody-here")).status).toBe(400);
  });
});

describe("assignable users", () => {
  test("assignable users are those with write access, and readers may list them", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "PUT", `${repo}/collaborators/${nora}`, { permission: "write" });
    await by(mira, "PUT", `${repo}/collaborators/${otto}`, { permission: "read" });
    const { json } = await by(otto, "GET", `${repo}/assignees`);
    expect(json.map(({ login }: { login: string }) => login)).toEqual([mira, nora].toSorted());
  });
});
