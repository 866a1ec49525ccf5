import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** A repository whose hook sends these events to a path of its own. */
async function newHooked(owner: string, events: readonly string[], type = "gitea") {
  const name = await people.newRepository(owner);
  const made = await people.by(owner, "POST", `/repos/${owner}/${name}/hooks`, {
    type,
    config: { url: `${receiver.url}/${name}`, content_type: "json" },
    events,
    active: true,
  });
  expect(made.status).toBe(201);
  const sent = async (count: number) => {
    const all = await receiver.waitFor(count, ({ path }) => path === `/${name}`);
    return all.map(({ headers, body }) => ({
      event: headers["x-gitea-event"],
      type: headers["x-gitea-event-type"],
      json: JSON.parse(body),
    }));
  };
  return { path: `/repos/${owner}/${name}`, sent };
}

describe("issue events of webhooks", () => {
  test("hooks receive that an issue is opened, edited, assigned, closed and reopened", async () => {
    const [mira, nora] = [await people.newUser(), await people.newUser()];
    const { path, sent } = await newHooked(mira, ["issues"]);
    const change = (json: object) => people.by(mira, "PATCH", `${path}/issues/1`, json);
    await people.by(nora, "POST", `${path}/issues`, { title: "Broken" });
    await change({ title: "Mended", body: "" });
    await change({ title: "Mended" });
    await change({ assignees: [nora] });
    await change({ state: "closed" });
    await change({ state: "closed" });
    await change({ state: "open", assignees: [] });
    const told = await sent(6);
    const byAction = new Map(told.map(({ type, json }) => [[type, json.action].join(" "), json]));
    // The order of deliveries is not guaranteed.
    expect([...byAction.keys()].toSorted()).toEqual([
      "issue_assign assigned",
      "issue_assign unassigned",
      "issues closed",
      "issues edited",
      "issues opened",
      "issues reopened",
    ]);
    expect(new Set(told.map(({ event }) => event))).toEqual(new Set(["issues"]));
    expect(byAction.get("issues opened")).toMatchObject({
      number: 1,
      issue: { title: "Broken", user: { login: nora } },
      repository: { full_name: path.slice("/repos/".length) },
      sender: { login: nora },
      commit_id: "",
    });
    expect(byAction.get("issues edited").changes).toEqual({ title: { from: "Broken" } });
    expect(byAction.get("issue_assign assigned").issue.assignees).toMatchObject([{ login: nora }]);
    expect(JSON.stringify(told)).not.toContain("@example.org");
  });

  test("an edit of title and body is delivered as two events", async () => {
    const mira = await people.newUser();
    const { path, sent } = await newHooked(mira, ["issues_only"]);
    await people.by(mira, "POST", `${path}/issues`, { title: "Broken", body: "first" });
    await people.by(mira, "PATCH", `${path}/issues/1`, { title: "Mended", body: "second" });
    const told = await sent(3);
    const title = told.find(({ json }) => json.changes?.title !== undefined);
    const body = told.find(({ json }) => json.changes?.body !== undefined);
    expect(title?.json).toMatchObject({
      action: "edited",
      changes: { title: { from: "Broken" } },
      issue: { title: "Mended", body: "first" },
    });
    expect(body?.json).toMatchObject({
      action: "edited",
      changes: { body: { from: "first" } },
      issue: { title: "Mended", body: "second" },
    });
    expect(title?.json.changes).not.toHaveProperty("body");
    expect(body?.json.changes).not.toHaveProperty("title");
  });

  test("hooks receive new and changed comments", async () => {
    const mira = await people.newUser();
    const { path, sent } = await newHooked(mira, ["issue_comment"]);
    await people.by(mira, "POST", `${path}/issues`, { title: "Broken" });
    const made = await people.by(mira, "POST", `${path}/issues/1/comments`, { body: "how?" });
    const edit = (body: string) =>
      people.by(mira, "PATCH", `${path}/issues/comments/${made.json.id}`, { body });
    await edit("how?");
    await edit("why?");
    const told = await sent(2);
    const created = told.find(({ json }) => json.action === "created");
    const edited = told.find(({ json }) => json.action === "edited");
    expect(created).toMatchObject({
      event: "issue_comment",
      json: {
        action: "created",
        comment: { body: "how?" },
        issue: { comments: 1 },
        is_pull: false,
      },
    });
    expectWireShape("Comment", created?.json.comment);
    expect(edited?.json).toMatchObject({
      action: "edited",
      comment: { body: "why?" },
      changes: { body: { from: "how?" } },
    });
  });

  test("hooks receive events of issues in the formats of chat services", async () => {
    const mira = await people.newUser();
    const { path, sent } = await newHooked(mira, ["issues"], "discord");
    await people.by(mira, "POST", `${path}/issues`, { title: "Broken <gate>" });
    await people.by(mira, "POST", `${path}/issues/1/comments`, { body: "how?" });
    const told = JSON.stringify(await sent(2));
    expect(told).toContain("Issue opened: #1 Broken");
    expect(told).toContain("Comment created on issue #1");
  });
});
