import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "rita", "zoe"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const toContent = (text: string) => Buffer.from(text).toString("base64");

/** Opens a pull request of mira that changes a file; otto may write, rita may read, zoe is a stranger. */
async function newPull(fields: object = {}): Promise<string> {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  const path = `/repos/mira/${name}`;
  for (const [user, permission] of [
    ["otto", "write"],
    ["rita", "read"],
  ])
    await by("mira", "PUT", `${path}/collaborators/${user}`, { permission });
  const file = { content: toContent("one\ntwo\nthree\n"), message: "Add" };
  const added = await by("mira", "POST", `${path}/contents/file.txt`, file);
  const changed = {
    content: toContent("one\nTWO\nthree\nfour\n"),
    sha: added.json.content.sha,
    new_branch: "topic",
  };
  expect((await by("mira", "PUT", `${path}/contents/file.txt`, changed)).status).toBe(200);
  const opened = { head: "topic", base: "main", title: "Change" };
  expect((await by("mira", "POST", `${path}/pulls`, opened)).status).toBe(201);
  return `${path}/pulls/1`;
}

const review = (pull: string, who: string, body: object) =>
  by(who, "POST", `${pull}/reviews`, body);
const line = (position: object) => ({ path: "file.txt", body: "Why?", ...position });

test("a review with comments on lines is submitted at once", async () => {
  const pull = await newPull();
  const made = await review(pull, "otto", {
    event: "COMMENT",
    comments: [line({ new_position: 4 }), line({ old_position: 2 })],
  });
  const head = (await by("otto", "GET", pull)).json.head.sha;
  expect(made).toMatchObject({
    status: 200,
    json: {
      state: "COMMENT",
      user: { login: "otto" },
      team: null,
      body: "",
      commit_id: head,
      stale: false,
      official: false,
      dismissed: false,
      comments_count: 2,
    },
  });
  const { id } = made.json;
  const [first, second] = (await by("rita", "GET", `${pull}/reviews/${id}/comments`)).json;
  expect(first).toMatchObject({
    path: "file.txt",
    body: "Why?",
    position: 4,
    original_position: 0,
    commit_id: head,
    original_commit_id: head,
    resolver: null,
    pull_request_review_id: id,
    diff_hunk: "@@ -2,2 +2,3 @@\n-two\n+TWO\n three\n+four",
  });
  expect(second).toMatchObject({ position: 0, original_position: 2 });
  expect(second.diff_hunk).toMatch(/^@@ .*\n one\n-two$/);
  expect((await by("rita", "GET", `${pull.replace("pulls", "issues")}/comments`)).json).toEqual([]);
  const [entry] = (await by("rita", "GET", `${pull.replace("pulls", "issues")}/timeline`)).json;
  expect(entry).toMatchObject({ type: "review", review_id: id });
  expect(made.json.html_url).toMatch(new RegExp(`#issuecomment-${entry.id}$`));
  expect((await by("rita", "GET", pull)).json).toMatchObject({ review_comments: 1 });

  const replies = `${pull}/comments/${first.id}/replies`;
  const reply = await by("zoe", "POST", replies, { body: "Because." });
  expect(reply).toMatchObject({
    status: 201,
    json: { body: "Because.", pull_request_review_id: id, position: 4, user: { login: "zoe" } },
  });
  const at = pull.replace("/1", "");
  const resolve = async (who: string, verb = "resolve") =>
    (await by(who, "POST", `${at}/comments/${first.id}/${verb}`)).status;
  expect([await resolve("zoe"), await resolve("mira")]).toEqual([403, 204]);
  const shown = async () => (await by("rita", "GET", `${pull}/reviews/${id}/comments`)).json[0];
  expect(await shown()).toMatchObject({ resolver: { login: "mira" } });
  expect(await resolve("otto", "unresolve")).toBe(204);
  expect(await shown()).toMatchObject({ resolver: null });
  const comment = await by("mira", "POST", `${pull.replace("pulls", "issues")}/comments`, {
    body: "Hi",
  });
  expect((await by("mira", "POST", `${at}/comments/${comment.json.id}/resolve`)).status).toBe(400);
});

test("a pending review is seen by its author and site administrators only, and submitted once", async () => {
  const pull = await newPull();
  const made = await review(pull, "otto", { event: "PENDING", body: "So far" });
  expect(made.json).toMatchObject({ state: "PENDING", official: false });
  const at = `${pull}/reviews/${made.json.id}`;
  const again = await review(pull, "otto", {
    body: "More",
    comments: [line({ new_position: 2 })],
  });
  expect(again.json).toMatchObject({ id: made.json.id, comments_count: 1 });
  expect((await by("mira", "GET", at)).status).toBe(404);
  expect((await by("mira", "GET", `${at}/comments`)).status).toBe(404);
  expect((await by("mira", "GET", `${pull}/reviews`)).json).toEqual([]);
  expect((await people.api("GET", at)).status).toBe(200);
  const timeline = `${pull.replace("pulls", "issues")}/timeline`;
  expect((await by("mira", "GET", timeline)).json).toEqual([]);

  const submit = (who: string, body: object) => by(who, "POST", at, body);
  expect((await submit("otto", { event: "PENDING", body: "x" })).json.message).toBe(
    "review stay pending",
  );
  expect((await submit("mira", { event: "COMMENT", body: "x" })).status).toBe(404);
  expect((await submit("otto", { event: "APPROVED" })).json).toMatchObject({
    state: "APPROVED",
    body: "More",
    official: true,
  });
  expect(await submit("otto", { event: "COMMENT", body: "x" })).toMatchObject({
    status: 422,
    json: { message: "only a pending review can be submitted" },
  });
});

test("refusals of reviews are those of the reference", async () => {
  const pull = await newPull();
  const refusal = async (who: string, body: object) => {
    const { status, json } = await review(pull, who, body);
    return [status, json.message];
  };
  expect(await refusal("mira", { event: "APPROVED" })).toEqual([
    422,
    "approve your own pull is not allowed",
  ]);
  expect(await refusal("mira", { event: "REQUEST_CHANGES", body: "x" })).toEqual([
    422,
    "reject your own pull is not allowed",
  ]);
  expect(await refusal("otto", { event: "REQUEST_CHANGES" })).toEqual([
    422,
    "review event REQUEST_CHANGES requires a body",
  ]);
  expect(await refusal("otto", { event: "COMMENT" })).toEqual([
    422,
    "review event COMMENT requires a body or a comment",
  ]);
  for (const wrong of [{ new_position: 9 }, {}, { path: "none.txt", new_position: 1 }])
    expect((await refusal("otto", { event: "COMMENT", comments: [line(wrong)] }))[0]).toBe(422);
  expect(
    (await refusal("otto", { event: "COMMENT", body: "x", commit_id: "1".repeat(40) }))[0],
  ).toBe(404);
  expect((await people.api("POST", `${pull}/reviews`, { event: "APPROVED" }, "")).status).toBe(401);
  await by("mira", "PATCH", pull, { state: "closed" });
  expect(await refusal("otto", { event: "APPROVED" })).toEqual([
    422,
    "can't submit review for a closed or merged PR",
  ]);
  expect((await refusal("otto", { event: "COMMENT", body: "Pity" }))[0]).toBe(200);
});

test("a new verdict replaces the former one, and comes back when the new one is deleted", async () => {
  const pull = await newPull();
  const first = (await review(pull, "otto", { event: "REQUEST_CHANGES", body: "No" })).json;
  const second = (await review(pull, "otto", { event: "APPROVED" })).json;
  const reader = (await review(pull, "rita", { event: "REQUEST_CHANGES", body: "No" })).json;
  expect([first.official, second.official, reader.official]).toEqual([true, true, false]);
  const get = async (id: number) => (await by("mira", "GET", `${pull}/reviews/${id}`)).json;
  expect(await get(first.id)).toMatchObject({ official: false, dismissed: true });
  const remove = async (who: string) =>
    (await by(who, "DELETE", `${pull}/reviews/${second.id}`)).status;
  expect([await remove("mira"), await remove("otto"), await remove("otto")]).toEqual([
    403, 204, 404,
  ]);
  expect(await get(first.id)).toMatchObject({ official: true });
});

test("administrators of the repository dismiss verdicts, with the earlier ones if they wish", async () => {
  const pull = await newPull();
  await review(pull, "otto", { event: "APPROVED" });
  const { id } = (await review(pull, "otto", { event: "REQUEST_CHANGES", body: "No" })).json;
  const comment = (await review(pull, "otto", { event: "COMMENT", body: "Hm" })).json;
  const dismiss = (who: string, review: number, verb = "dismissals") =>
    by(who, "POST", `${pull}/reviews/${review}/${verb}`, { message: "Old", priors: true });
  expect(await dismiss("otto", id)).toMatchObject({
    status: 403,
    json: { message: "Must be repo admin" },
  });
  expect((await dismiss("mira", comment.id)).status).toBe(403);
  expect((await dismiss("mira", id)).json).toMatchObject({ dismissed: true });
  const timeline = await by("mira", "GET", `${pull.replace("pulls", "issues")}/timeline`);
  expect(timeline.json.at(-1)).toMatchObject({
    type: "dismiss_review",
    body: "Old",
    review_id: id,
  });
  expect((await dismiss("mira", id, "undismissals")).json).toMatchObject({ dismissed: false });
});

test("a push that changes the content makes verdicts stale, one of the base's commits does not", async () => {
  const pull = await newPull();
  const path = pull.replace("/pulls/1", "");
  const rule = { rule_name: "main", dismiss_stale_approvals: true, enable_push: true };
  expect((await by("mira", "POST", `${path}/branch_protections`, rule)).status).toBe(201);
  await review(pull, "otto", { event: "APPROVED" });
  const get = async () => (await by("mira", "GET", `${pull}/reviews`)).json[0];
  const commit = async (branch: string, name: string) => {
    const file = { content: toContent(name), branch };
    expect((await by("mira", "POST", `${path}/contents/${name}`, file)).status).toBe(201);
  };
  await commit("main", "other.txt");
  await expect
    .poll(async () => (await by("mira", "GET", pull)).json.mergeable, { timeout: 60_000 })
    .toBe(true);
  expect(await get()).toMatchObject({ stale: false, dismissed: false });
  await commit("topic", "more.txt");
  await expect
    .poll(get, { timeout: 60_000 })
    .toMatchObject({ stale: true, dismissed: true, official: true });
});

test("owners of changed files are asked when the pull request is ready, and not again", async () => {
  const pull = await newPull();
  const path = pull.replace("/pulls/1", "");
  const owners = "# who knows\n.*\\.txt @otto @mira @nobody\ndocs/.* @rita\n(a+)+b @zoe\n[ @zoe\n";
  const file = { content: toContent(owners) };
  expect((await by("mira", "POST", `${path}/contents/.gitea/CODEOWNERS`, file)).status).toBe(201);
  const draft = { title: "WIP: Draft", content: toContent("x"), new_branch: "second" };
  await by("mira", "POST", `${path}/contents/second.txt`, draft);
  const opened = { head: "second", base: "main", title: "WIP: Second" };
  const second = (await by("mira", "POST", `${path}/pulls`, opened)).json.number;
  const at = `${path}/pulls/${second}`;
  const requested = async () =>
    (await by("mira", "GET", at)).json.requested_reviewers.map(
      ({ login }: { login: string }) => login,
    );
  expect(await requested()).toEqual([]);
  await by("mira", "PATCH", at, { title: "Second" });
  await expect.poll(requested, { timeout: 60_000 }).toEqual(["otto"]);
  await review(at, "otto", { event: "APPROVED" });
  const more = { content: toContent("y"), branch: "second" };
  await by("mira", "POST", `${path}/contents/third.txt`, more);
  await expect
    .poll(async () => (await by("mira", "GET", `${at}/reviews`)).json, { timeout: 60_000 })
    .toMatchObject([{ state: "APPROVED", stale: true }]);
  expect(await requested()).toEqual([]);
});

test("reviewers are asked, answer, and decline", async () => {
  const pull = await newPull();
  const ask = (who: string, body: object) => by(who, "POST", `${pull}/requested_reviewers`, body);
  const asked = await ask("rita", { reviewers: ["otto", "zoe@example.org"] });
  expect(asked.status).toBe(201);
  expect(asked.json).toMatchObject([
    { state: "REQUEST_REVIEW", user: { login: "otto" }, official: true },
    { state: "REQUEST_REVIEW", user: { login: "zoe" }, official: false },
  ]);
  expect((await ask("mira", { reviewers: ["otto"] })).json).toEqual([]);
  const requested = async () =>
    (await by("mira", "GET", pull)).json.requested_reviewers.map(
      ({ login }: { login: string }) => login,
    );
  expect(await requested()).toEqual(["otto", "zoe"]);
  // A job notifies otto.
  await expect
    .poll(async () => (await by("otto", "GET", "/notifications")).json)
    .toContainEqual(
      expect.objectContaining({
        subject: expect.objectContaining({ title: "Change", type: "Pull" }),
      }),
    );

  await review(pull, "otto", { event: "COMMENT", body: "Seen" });
  const decline = { reviewers: ["zoe"] };
  const cancel = async (who: string) =>
    (await by(who, "DELETE", `${pull}/requested_reviewers`, decline)).status;
  expect(await cancel("zoe")).toBe(204);
  expect(await requested()).toEqual([]);

  for (const [who, names, status, text] of [
    ["mira", { reviewers: ["nobody"] }, 404, "user doesn't exist: nobody"],
    ["mira", { team_reviewers: ["core"] }, 404, "team doesn't exist: core"],
    ["otto", { reviewers: ["mira"] }, 422, "poster of pr can't be reviewer"],
    ["zoe", { reviewers: ["otto"] }, 422, "Doer can't choose reviewer"],
  ] as const) {
    const refused = await ask(who, names);
    expect([refused.status, refused.json.message]).toEqual([status, expect.stringContaining(text)]);
  }
});

test("a team of the organization is asked, and its member's verdict answers", async () => {
  const made = await by("mira", "POST", "/orgs", { username: "guild" });
  expect(made.status).toBe(201);
  const team = await by("mira", "POST", "/orgs/guild/teams", {
    name: "core",
    permission: "write",
    includes_all_repositories: true,
    units: ["repo.code", "repo.pulls"],
  });
  await by("mira", "PUT", `/teams/${team.json.id}/members/otto`);
  await by("mira", "POST", "/orgs/guild/repos", { name: "hall", auto_init: true });
  const path = "/repos/guild/hall";
  await by("mira", "POST", `${path}/contents/a.txt`, {
    content: toContent("a\n"),
    new_branch: "topic",
  });
  const opened = await by("mira", "POST", `${path}/pulls`, {
    head: "topic",
    base: "main",
    title: "Add",
    team_reviewers: ["core"],
  });
  expect(opened.json).toMatchObject({ requested_reviewers_teams: [{ name: "core" }] });
  const pull = `${path}/pulls/1`;
  const teams = async () => (await by("mira", "GET", pull)).json.requested_reviewers_teams;
  await review(pull, "otto", { event: "COMMENT", body: "Later" });
  expect(await teams()).toHaveLength(1);
  await review(pull, "otto", { event: "APPROVED" });
  expect(await teams()).toEqual([]);
});
