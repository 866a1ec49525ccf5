import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { expectWireShape } from "../../support/forge/forge-wire.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { newUser, by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

/** Makes a repository and returns the path of its routes. */
const newRepository = async (owner: string, fields: object = {}) =>
  `/repos/${owner}/${await people.newRepository(owner, fields)}`;

/** A person's threads about anything but repositories, as soon as there are `count`. */
async function threadsOf(user: string, count: number): Promise<TestAnswer["json"]> {
  const path = "/notifications?subject-type=issue&subject-type=commit";
  const read = async () => (await by(user, "GET", path)).json;
  await expect.poll(async () => (await read()).length).toBe(count);
  return read();
}

/** Jobs run in order of their time: after the notification of a later job, all earlier jobs have sent theirs. */
async function settle(repo: string, owner: string, listener: string): Promise<void> {
  const made = await by(owner, "POST", `${repo}/issues`, { title: `for @${listener}` });
  const number = made.json.number;
  await expect
    .poll(async () => (await by(listener, "GET", "/notifications?subject-type=issue")).text)
    .toContain(`/issues/${number}"`);
}

describe("an issue", () => {
  test("an issue shows its author as the viewer may see them, and other users as anonymous callers see them", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "seen", assignees: [nora] });
    await by(nora, "POST", `${repo}/issues/1/comments`, { body: "also seen" });
    const hidden = (name: string) => expect.stringMatching(`^\\d+\\+${name}@noreply\\.`);
    const own = (await by(mira, "GET", `${repo}/issues/1`)).json;
    expect(own.user).toMatchObject({ email: `${mira}@example.org`, active: true });
    expect(own.assignees).toMatchObject([{ email: hidden(nora), active: false }]);
    const others = (await by(nora, "GET", `${repo}/issues`)).json;
    expect(others[0].user).toMatchObject({ email: `${mira}@example.org`, active: false });
    const strangers = (await people.api("GET", `${repo}/issues/1`, undefined, "")).json;
    expect(strangers.user).toMatchObject({ email: hidden(mira), active: false });
    const comments = (await by(nora, "GET", `${repo}/issues/1/comments`)).json;
    expect(comments[0].user).toMatchObject({ email: hidden(nora), active: false });
  });

  test("an issue is opened, read, changed, closed and reopened", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    const made = await by(mira, "POST", `${repo}/issues`, {
      title: "The gate squeaks",
      body: "Since Monday",
      assignees: [nora],
      due_date: "2027-01-02T03:04:05Z",
    });
    expect(made.status).toBe(201);
    // Null without a value, which the schema does not know.
    const nothing = { milestone: undefined, pull_request: undefined, closed_at: undefined };
    expectWireShape("Issue", { ...made.json, ...nothing });
    expect(made.json).toMatchObject({
      number: 1,
      state: "open",
      user: { login: mira },
      assignees: [{ login: nora }],
      due_date: "2027-01-02T23:59:59Z",
      closed_at: null,
    });
    const closed = await by(mira, "PATCH", `${repo}/issues/1`, {
      state: "closed",
      body: "Oiled",
      unset_due_date: true,
    });
    expect(closed.status).toBe(201);
    expect(closed.json).toMatchObject({ state: "closed", content_version: 1, due_date: null });
    expect(closed.json.closed_at).not.toBeNull();
    const stale = await by(mira, "PATCH", `${repo}/issues/1`, { body: "x", content_version: 0 });
    expect(stale.status).toBe(409);
    expect((await by(nora, "GET", `${repo}/issues`)).json).toEqual([]);
    expect((await by(nora, "GET", `${repo}/issues?state=all&q=GATE`)).json.length).toBe(1);
    const labelled = await newRepository(mira, { issue_labels: "Default" });
    const own = await by(mira, "POST", `${labelled}/issues`, { title: "x", labels: [1, 2, 999] });
    expect(own.json.labels.length).toBe(2);
    expectWireShape("Label", own.json.labels);
    const foreign = await by(mira, "POST", `${repo}/issues`, { title: "x", labels: [1] });
    expect(foreign.json.labels).toEqual([]);
    expect((await by(mira, "PATCH", `${repo}/issues/1`, { state: "open" })).json.state).toBe(
      "open",
    );
    expect((await by(mira, "POST", `${repo}/issues`, { title: "Next" })).json.number).toBe(3);
  });

  test("an issue and its comments remain when the author is deleted, with the ghost user as author", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(nora, "POST", `${repo}/issues`, { title: "Left behind" });
    await by(nora, "POST", `${repo}/issues/1/comments`, { body: "Bye" });
    const token = daemon.first?.forge.token ?? "";
    await daemon.request(`/api/v1/admin/users/${nora}`, { method: "DELETE", token });
    const ghost = { id: -1, login: "Ghost", username: "Ghost", is_admin: false };
    const issue = await by(mira, "GET", `${repo}/issues/1`);
    expect(issue.json).toMatchObject({ title: "Left behind", comments: 1, user: ghost });
    const comments = await by(mira, "GET", `${repo}/issues/1/comments`);
    expect(comments.json).toMatchObject([{ body: "Bye", user: ghost }]);
    const picture = new URL(issue.json.user.avatar_url).pathname;
    expect((await daemon.request(picture)).status).toBe(200);
  });

  test("an issue loses the comments of a purged user, and its count of comments follows", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    for (const title of ["First", "Second"]) await by(nora, "POST", `${repo}/issues`, { title });
    for (const [name, issue] of [
      [nora, 1],
      [mira, 1],
      [nora, 1],
      [nora, 2],
    ] as const)
      await by(name, "POST", `${repo}/issues/${issue}/comments`, { body: `by ${name}` });
    const token = daemon.first?.forge.token ?? "";
    const path = `/api/v1/admin/users/${nora}?purge=true`;
    expect((await daemon.request(path, { method: "DELETE", token })).status).toBe(204);
    const issues = await by(mira, "GET", `${repo}/issues`);
    expect(issues.json).toMatchObject([
      { number: 2, comments: 0, user: { login: "Ghost" } },
      { number: 1, comments: 1, user: { login: "Ghost" } },
    ]);
    const comments = await by(mira, "GET", `${repo}/issues/1/comments`);
    expect(comments.json.map(({ body }: { body: string }) => body)).toEqual([`by ${mira}`]);
  });

  test("an issue is found by every filter, and by all of them together", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira, { issue_labels: "Default" });
    const labelsOf = async (...ids: number[]) => {
      const made = await by(mira, "POST", `${repo}/issues`, { title: "labelled", labels: ids });
      return made.json.labels as { id: number; name: string }[];
    };
    const [first, second] = await labelsOf(
      ...Array.from({ length: 50 }, (_, at) => at + 1),
      // Labels of other repositories are left out, so these are the first of this one.
    );
    if (first === undefined || second === undefined) throw new Error("there are no labels");
    await labelsOf(first.id);
    await by(nora, "POST", `${repo}/issues`, { title: "Éclair", body: "for 50% of us" });
    await by(mira, "POST", `${repo}/issues`, { title: "named", body: `@${nora}, look` });
    await by(mira, "POST", `${repo}/issues`, { title: "given", assignees: [nora] });
    await by(mira, "POST", `${repo}/issues/3/comments`, { body: `and @${nora}` });
    const numbers = async (query: string) => {
      const answer = await by(mira, "GET", `${repo}/issues?${query}`);
      expect(answer.status).toBe(200);
      const found = answer.json.map(({ number }: { number: number }) => number);
      expect(answer.headers.get("x-total-count")).toBe(String(found.length));
      return found.toSorted();
    };
    const name = (label: { name: string }) => encodeURIComponent(label.name);
    expect(await numbers("")).toEqual([1, 2, 3, 4, 5]);
    expect(await numbers(`labels=${name(first)}`)).toEqual([1, 2]);
    expect(await numbers(`labels=${name(first)},${name(second)}`)).toEqual([1]);
    expect(await numbers(`labels=${name(first)},%20,no-such-label`)).toEqual([1, 2]);
    expect(await numbers("labels=no-such-label")).toEqual([1, 2, 3, 4, 5]);
    expect(await numbers(`created_by=${nora.toUpperCase()}`)).toEqual([3]);
    expect(await numbers(`assigned_by=${nora}`)).toEqual([5]);
    expect(await numbers(`mentioned_by=${nora}`)).toEqual([3, 4]);
    expect(await numbers(`mentioned_by=${nora}&created_by=${mira}&type=issues`)).toEqual([4]);
    expect(await numbers("type=pulls")).toEqual([]);
    expect(await numbers("q=%C3%89clair")).toEqual([3]);
    expect(await numbers("q=50%25")).toEqual([3]);
    expect(await numbers("q=5_%25")).toEqual([]);
    expect(await numbers("since=2001-01-01T00:00:00Z&before=2100-01-01T00:00:00Z")).toHaveLength(5);
    expect(await numbers("before=2001-01-01T00:00:00Z")).toEqual([]);
    expect(await numbers("since=2100-01-01T00:00:00Z")).toEqual([]);
    await by(mira, "PATCH", `${repo}/issues/2`, { state: "closed" });
    expect(await numbers(`state=closed&labels=${name(first)}`)).toEqual([2]);
    expect(await numbers(`state=ALL&labels=${name(first)}`)).toEqual([1, 2]);
    const page = await by(mira, "GET", `${repo}/issues?limit=2&page=2`);
    expect(page.json.map(({ number }: { number: number }) => number)).toEqual([3, 1]);
    expect(page.headers.get("x-total-count")).toBe("4");
    for (const filter of ["created_by", "assigned_by", "mentioned_by"])
      expect((await by(mira, "GET", `${repo}/issues?${filter}=nobody`)).status).toBe(404);
    for (const query of ["since=x", "before=2026-02-30T00:00:00Z"])
      expect((await by(mira, "GET", `${repo}/issues?${query}`)).status).toBe(422);
  });

  test("an issue is counted by its repository while it is open, however it is closed", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const count = async () => (await by(mira, "GET", repo)).json.open_issues_count;
    expect(await count()).toBe(0);
    await by(mira, "POST", `${repo}/issues`, { title: "a" });
    await by(mira, "POST", `${repo}/issues`, { title: "b" });
    await by(mira, "POST", `${repo}/issues`, { title: "c", closed: true });
    expect(await count()).toBe(2);
    const set = (number: number, state: string) =>
      by(mira, "PATCH", `${repo}/issues/${number}`, { state });
    await Promise.all(Array.from({ length: 10 }, () => set(1, "closed")));
    expect(await count()).toBe(1);
    await Promise.all([set(1, "open"), set(1, "open"), set(2, "closed"), set(3, "open")]);
    expect(await count()).toBe(2);
    await by(mira, "PATCH", `${repo}/issues/1`, { title: "other" });
    expect(await count()).toBe(2);
  });

  test.each([
    [{}, 422],
    [{ title: "" }, 422],
    [{ title: "x".repeat(256) }, 422],
    [{ title: "x", assignees: ["nobody-at-all"] }, 422],
    [{ title: "x", due_date: "tomorrow" }, 422],
    [{ title: "x", labels: ["a"] }, 422],
    [{ title: 5 }, 422],
  ])("an issue is not created from %j", async (json, status) => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    expect((await by(mira, "POST", `${repo}/issues`, json)).status).toBe(status);
  });

  test("others cannot see issues of a private repository, and users cannot edit texts of others", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const [hidden, open] = [
      await newRepository(mira, { private: true }),
      await newRepository(mira),
    ];
    await by(mira, "POST", `${hidden}/issues`, { title: "Secret" });
    await by(mira, "POST", `${open}/issues`, { title: "Open" });
    const comment = await by(mira, "POST", `${hidden}/issues/1/comments`, { body: "Psst" });
    const { id } = comment.json;
    for (const [method, path, json] of [
      ["GET", "/issues"],
      ["GET", "/issues/1"],
      ["GET", "/issues/1/comments"],
      ["GET", `/issues/comments/${id}`],
      ["GET", "/issues/1/subscriptions"],
      ["GET", "/issues/1/subscriptions/check"],
      ["GET", "/subscription"],
      ["PUT", "/subscription"],
      ["DELETE", "/subscription"],
      ["PUT", `/issues/1/subscriptions/${nora}`],
      ["POST", "/issues", { title: "x" }],
      ["PATCH", "/issues/1", { title: "x" }],
      ["POST", "/issues/1/comments", { body: "x" }],
      ["PATCH", `/issues/comments/${id}`, { body: "x" }],
    ] as const) {
      const answer = await by(nora, method, hidden + path, json);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    // A comment is searched in the repository of the path only.
    expect((await by(nora, "GET", `${open}/issues/comments/${id}`)).status).toBe(404);
    expect((await by(mira, "PATCH", `${open}/issues/comments/${id}`, { body: "x" })).status).toBe(
      404,
    );
    expect((await by(nora, "PATCH", `${open}/issues/1`, { title: "Mine" })).status).toBe(403);
    const subscribed = `${open}/issues/1/subscriptions/${mira}`;
    expect((await by(nora, "DELETE", subscribed)).status).toBe(403);
    expect((await daemon.request(`/api/v1${open}/issues`)).status).toBe(200);
    expect((await daemon.request(`/api/v1${hidden}/issues`)).status).toBe(404);
  });
});

describe("threads", () => {
  test("participants are notified of a new issue, a comment and a new state, the actor never", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "PUT", `${repo}/subscription`);
    const issue = await by(nora, "POST", `${repo}/issues`, { title: "Broken", body: "Look" });
    const [thread] = await threadsOf(mira, 1);
    expectWireShape("NotificationThread", thread);
    expect(thread).toMatchObject({
      unread: true,
      subject: {
        type: "Issue",
        title: "Broken",
        state: "open",
        url: issue.json.url,
        html_url: issue.json.html_url,
        latest_comment_url: "",
      },
    });
    await by(mira, "PATCH", `/notifications/threads/${thread.id}`);
    const comment = await by(nora, "POST", `${repo}/issues/1/comments`, { body: "Still" });
    expectWireShape("Comment", comment.json);
    const [again] = await threadsOf(mira, 1);
    expect(again).toMatchObject({ id: thread.id, unread: true });
    const { latest_comment_url: url } = again.subject;
    const named = await by(mira, "GET", new URL(url).pathname.replace("/api/v1", ""));
    expect(named.json).toMatchObject({ id: comment.json.id, body: "Still" });
    await by(mira, "PATCH", `${repo}/issues/1`, { state: "closed" });
    const [told] = await threadsOf(nora, 1);
    expect(told.subject.state).toBe("closed");
  });

  test("mentioned users are notified, except by code and in repositories that they may not read", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const [open, hidden] = [
      await newRepository(mira),
      await newRepository(mira, { private: true }),
    ];
    await by(mira, "POST", `${open}/issues`, {
      title: "Ask",
      body: `Please, @${nora}.\n\n\`\`\`\n@${olga}\n\`\`\`\nnot \`@${olga}\`, not x@${olga}`,
    });
    await by(mira, "POST", `${hidden}/issues`, { title: `Not for @${nora}` });
    expect((await threadsOf(nora, 1))[0].subject.title).toBe("Ask");
    await settle(open, mira, nora);
    await threadsOf(nora, 2);
    await threadsOf(olga, 0);
  });

  test("notifications reach new assignees, and users who unsubscribed only when they are mentioned", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira);
    await by(mira, "POST", `${repo}/issues`, { title: "Work" });
    await by(mira, "PATCH", `${repo}/issues/1`, { assignees: [nora] });
    await threadsOf(nora, 1);
    const path = `${repo}/issues/1/subscriptions`;
    await by(olga, "PUT", `${repo}/subscription`);
    expect((await by(olga, "PUT", `${path}/${olga}`)).status).toBe(201);
    expect((await by(olga, "PUT", `${path}/${olga}`)).status).toBe(200);
    expect((await by(olga, "GET", path)).headers.get("x-total-count")).toBe("2");
    expect((await by(olga, "DELETE", `${path}/${olga}`)).status).toBe(201);
    const check = await by(olga, "GET", `${path}/check`);
    expectWireShape("WatchInfo", check.json);
    expect(check.json).toMatchObject({ subscribed: false, ignored: true });
    await by(mira, "POST", `${repo}/issues/1/comments`, { body: "Anybody?" });
    await settle(repo, mira, nora);
    const told = async () => (await by(olga, "GET", "/notifications?subject-type=issue")).text;
    expect(await told()).not.toContain('/issues/1"');
    await by(mira, "POST", `${repo}/issues/1/comments`, { body: `@${olga}?` });
    await expect.poll(told).toContain('/issues/1"');
  });

  test("watchers and users mentioned in commits are notified of a push", async () => {
    const [mira, nora, olga] = [await newUser(), await newUser(), await newUser()];
    const repo = await newRepository(mira);
    const watched = await by(nora, "PUT", `${repo}/subscription`);
    expectWireShape("WatchInfo", watched.json);
    expect((await by(olga, "GET", `${repo}/subscription`)).status).toBe(404);
    const address = new URL(daemon.url);
    address.username = mira;
    address.password = "user-password";
    address.pathname = `${repo.replace("/repos", "")}.git`;
    await git.run("init", "-q", "pushed");
    const message = `Mend it, @${olga}`;
    await git.in("pushed", "commit", "-q", "--allow-empty", "-m", message);
    const commit = (await git.in("pushed", "rev-parse", "HEAD")).output.trim();
    const push = await git.in("pushed", "push", address.href, "HEAD:main");
    expect(push.exitCode, push.errors).toBe(0);
    const [pushed] = await threadsOf(nora, 1);
    expect(pushed.subject).toMatchObject({ type: "Commit", title: commit, state: "" });
    expect((await threadsOf(olga, 1))[0].subject.html_url).toContain(`/commit/${commit}`);
    expect((await by(nora, "DELETE", `${repo}/subscription`)).status).toBe(204);
    expect((await by(nora, "GET", `${repo}/subscription`)).status).toBe(404);
    await threadsOf(mira, 0);
  });

  test.each(["the repository", "its purged owner"])(
    "threads are no longer counted after the deletion of %s",
    async (deleted) => {
      const [mira, nora] = [await newUser(), await newUser()];
      const repo = await newRepository(mira);
      const otherRepository = await newRepository(nora);
      for (const path of [repo, otherRepository])
        await by(mira, "POST", `${path}/issues`, { title: `for @${nora}` });
      // One in each repository, and the notification of the creation of her own.
      await threadsOf(nora, 2);
      const numbers = async () => {
        const list = await by(nora, "GET", "/notifications?all=true");
        const { json } = await by(nora, "GET", "/notifications/new");
        return [list.json.length, list.headers.get("x-total-count"), json.new];
      };
      expect(await numbers()).toEqual([3, "3", 3]);
      const path = deleted === "the repository" ? repo : `/admin/users/${mira}?purge=true`;
      expect((await people.api("DELETE", path)).status).toBe(204);
      expect(await numbers()).toEqual([2, "2", 2]);
    },
  );

  test("threads are deleted with their repository, and polling clients notice it", async () => {
    const mira = await newUser();
    const repo = await newRepository(mira);
    const first = await by(mira, "GET", "/notifications");
    expect(first.json.length).toBe(1);
    await by(mira, "DELETE", repo);
    const poll = await daemon.request("/api/v1/notifications", {
      token: people.tokenOf(mira),
      headers: { "If-Modified-Since": first.headers.get("last-modified") ?? "" },
    });
    expect([poll.status, poll.json]).toEqual([200, []]);
  });
});
