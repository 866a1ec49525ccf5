import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const people = createForgePeople(() => daemon);
const { by } = people;
const { create, addFile, open, headOf } = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

async function addHook(path: string, events: readonly string[], type = "gitea"): Promise<void> {
  const made = await by("mira", "POST", `${path}/hooks`, {
    type,
    config: { url: `${receiver.url}${path}/${type}`, content_type: "json", channel: "#dev" },
    events,
    active: true,
  });
  expect(made.status).toBe(201);
}

async function sent(path: string, count: number, type = "gitea") {
  const all = await receiver.waitFor(count, (each) => each.path === `${path}/${type}`);
  return all.map(({ headers, body }) => ({
    event: headers["x-gitea-event"],
    type: headers["x-gitea-event-type"],
    json: JSON.parse(body),
  }));
}

test("hooks get every change of a pull request, as Gitea sends it", async () => {
  const path = await create(["topic", "dev"]);
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  const label = (await by("mira", "POST", `${path}/labels`, { name: "bug", color: "ff0000" })).json;
  const milestone = (await by("mira", "POST", `${path}/milestones`, { title: "One" })).json;
  await addHook(path, ["pull_request"]);
  await addHook(path, ["pull_request"], "slack");
  await open(path, "topic");
  const edit = (json: object) => by("mira", "PATCH", `${path}/pulls/1`, json);
  await edit({ title: "Other" });
  await edit({ base: "dev" });
  await edit({ labels: [label.id] });
  await edit({ milestone: milestone.id });
  await edit({ assignees: ["otto"] });
  await by("mira", "POST", `${path}/pulls/1/requested_reviewers`, { reviewers: ["otto"] });
  await by("mira", "POST", `${path}/issues/1/comments`, { body: "Hello" });
  await by("otto", "POST", `${path}/pulls/1/reviews`, { event: "APPROVED", body: "Good" });
  await edit({ state: "closed" });
  await edit({ state: "open" });
  const before = await headOf(path, "topic");
  await addFile(path, "topic", "more.txt", "more\n");
  const after = await headOf(path, "topic");
  const told = await sent(path, 12);
  expect(told.map(({ event, type, json }) => [event, type, json.action].join(" "))).toEqual([
    "pull_request pull_request opened",
    "pull_request pull_request edited",
    "pull_request pull_request edited",
    "pull_request pull_request_label label_updated",
    "pull_request pull_request_milestone milestoned",
    "pull_request pull_request_assign assigned",
    "pull_request pull_request_review_request review_requested",
    "issue_comment pull_request_comment created",
    "pull_request_approved pull_request_review_approved reviewed",
    "pull_request pull_request closed",
    "pull_request pull_request reopened",
    "pull_request pull_request_sync synchronized",
  ]);
  const [opened, title, base, , , assigned, asked, comment, review, closed, , pushed] = told.map(
    ({ json }) => json,
  );
  expect(opened).toMatchObject({
    number: 1,
    pull_request: { number: 1, title: "Merge topic", head: { ref: "topic", sha: before } },
    requested_reviewer: null,
    repository: { full_name: path.slice("/repos/".length) },
    sender: { login: "mira" },
    commit_id: "",
    review: null,
  });
  expect(title.changes).toEqual({
    title: { from: "Merge topic" },
    added_labels: null,
    removed_labels: null,
  });
  expect(base.changes).toMatchObject({ ref: { from: "main" } });
  expect(assigned.pull_request.assignees).toMatchObject([{ login: "otto" }]);
  expect(asked.requested_reviewer.login).toBe("otto");
  expect(comment).toMatchObject({
    is_pull: true,
    issue: { number: 1 },
    pull_request: { number: 1 },
    comment: { body: "Hello" },
  });
  expect(review.review).toEqual({ type: "pull_request_review_approved", content: "Good" });
  expect(closed.pull_request).toMatchObject({ state: "closed", merged: false });
  expect(pushed).toMatchObject({ before, after, pull_request: { head: { sha: after } } });
  expect(JSON.stringify(told)).not.toContain("@example.org");
  const [first] = await sent(path, 1, "slack");
  expect(first?.json.text).toContain("Pull request opened");
});

test("threads, feeds and watchers learn of pull requests", async () => {
  const path = await create(["topic"]);
  await by("otto", "PUT", `${path}/subscription`);
  await by("otto", "PUT", "/notifications");
  await open(path, "topic", { title: "WIP: x", body: "Text" });
  const threads = async () => (await by("otto", "GET", "/notifications?subject-type=pull")).json;
  await expect
    .poll(threads, { interval: 20 })
    .toMatchObject([{ subject: { type: "Pull", state: "open", title: "WIP: x" }, unread: true }]);
  const read = async () => {
    await by("otto", "PUT", "/notifications");
    expect(await threads()).toEqual([]);
  };
  await read();
  await by("mira", "PATCH", `${path}/pulls/1`, { title: "x" });
  await expect.poll(threads, { interval: 20 }).toHaveLength(1);
  await read();
  await addFile(path, "topic", "more.txt", "more\n");
  await expect.poll(threads, { interval: 20 }).toHaveLength(1);
  await by("mira", "POST", `${path}/issues/1/comments`, { body: "Hello" });
  const feed = async () =>
    (await by("otto", "GET", `${path}/activities/feeds`)).json
      .map(({ op_type: kind, content }: Record<string, string>) => `${kind} ${content}`)
      .filter((text: string) => text.includes("pull"));
  expect(await feed()).toEqual(["comment_pull 1|Hello", "create_pull_request 1|x"]);
});
