import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newToken, newRepository } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
});
afterAll(() => daemon[Symbol.asyncDispose]());

interface Activity {
  readonly id: number;
  readonly user_id: number;
  readonly op_type: string;
  readonly act_user: { readonly login: string };
  readonly repo: { readonly full_name: string };
  readonly ref_name: string;
  readonly content: string;
  readonly comment: { readonly body: string } | null;
}

const as = (caller: string, path: string) =>
  caller === "" ? api("GET", path, undefined, "") : by(caller, "GET", path);
const listOf = async (caller: string, path: string): Promise<readonly Activity[]> => {
  const answer = await as(caller, path);
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.json;
};
const kindsOf = async (caller: string, path: string) =>
  (await listOf(caller, path)).map(({ op_type: kind }) => kind);
const base64 = (text: string) => Buffer.from(text).toString("base64");
const ok = async (answer: ReturnType<typeof api>) => {
  const { status, text, json } = await answer;
  expect(text + String(status)).toMatch(/20\d$/);
  return json;
};
const feedOfRepository = (owner: string, name: string) =>
  `/repos/${owner}/${name}/activities/feeds`;
const feedOfUser = (name: string) => `/users/${name}/activities/feeds`;

describe("recording of activities", () => {
  test("issues and comments are recorded and shown with their current texts", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    const path = `/repos/${mira}/${name}`;
    await ok(by(nora, "POST", `${path}/issues`, { title: "Torn | twice" }));
    const long = `${"word ".repeat(80)}end`;
    const comment = await ok(by(mira, "POST", `${path}/issues/1/comments`, { body: long }));
    await ok(by(mira, "PATCH", `${path}/issues/1`, { state: "closed" }));
    // A state that does not change is no activity.
    await ok(by(mira, "PATCH", `${path}/issues/1`, { state: "closed", title: "Mended" }));
    await ok(by(nora, "PATCH", `${path}/issues/1`, { state: "open" }));
    const [reopened, closed, commented, opened, created] = await listOf(
      mira,
      feedOfRepository(mira, name),
    );
    expect(created).toMatchObject({
      op_type: "create_repo",
      content: "",
      comment: null,
      comment_id: 0,
      is_private: false,
      repo: { full_name: `${mira}/${name}`, permissions: { admin: true } },
    });
    expect(opened).toMatchObject({
      op_type: "create_issue",
      content: "1|Mended",
      act_user: { login: nora },
    });
    expect(opened?.user_id).toBe((await api("GET", `/users/${nora}`)).json.id);
    expect(commented).toMatchObject({ op_type: "comment_issue", comment: { id: comment.id } });
    expect(commented?.content).toMatch(/^1\|(?:word ){38,39}word…$/);
    expect(closed).toMatchObject({ op_type: "close_issue", content: "1|" });
    expect(reopened).toMatchObject({ op_type: "reopen_issue", act_user: { login: nora } });

    // A text that its author takes back is not kept in feeds.
    await ok(by(mira, "PATCH", `${path}/issues/comments/${comment.id}`, { body: "short" }));
    const edited = (await listOf("", feedOfRepository(mira, name)))[2];
    expect([edited?.content, edited?.comment?.body]).toEqual(["1|short", "short"]);
    await ok(by(mira, "DELETE", `${path}/issues/comments/${comment.id}`));
    expect(await kindsOf("", feedOfRepository(mira, name))).not.toContain("comment_issue");
    await ok(by(mira, "DELETE", `${path}/issues/1`));
    expect(await kindsOf("", feedOfRepository(mira, name))).toEqual(["create_repo"]);
  });

  test("pushes of branches and tags, and their deletion, are recorded with commits", async () => {
    const mira = await newUser();
    const name = await newRepository(mira, { auto_init: true });
    const path = `/repos/${mira}/${name}`;
    await ok(
      by(mira, "POST", `${path}/contents/a.txt`, { content: base64("a"), message: "Add a" }),
    );
    await ok(by(mira, "POST", `${path}/branches`, { new_branch_name: "feature/é" }));
    await ok(by(mira, "POST", `${path}/tags`, { tag_name: "v1", target: "main" }));
    await ok(by(mira, "DELETE", `${path}/tags/v1`));
    await ok(by(mira, "DELETE", `${path}/branches/feature/${encodeURIComponent("é")}`));
    const list = await listOf(mira, feedOfRepository(mira, name));
    expect(list.map((each) => [each.op_type, each.ref_name])).toEqual([
      ["delete_branch", "refs/heads/feature/é"],
      ["delete_tag", "refs/tags/v1"],
      ["push_tag", "refs/tags/v1"],
      ["commit_repo", "refs/heads/feature/é"],
      ["commit_repo", "refs/heads/main"],
      ["create_repo", ""],
    ]);
    expect(list[0]?.content).toBe("");
    for (const at of [1, 2, 3, 4])
      expect(JSON.parse(list[at]?.content ?? "")).toHaveProperty("Len");
    const contentOf = async (at: number) =>
      JSON.parse((await listOf("", feedOfRepository(mira, name)))[at]?.content ?? "");
    await expect.poll(() => contentOf(4), { interval: 10 }).toMatchObject({ Len: 1 });
    const head = (await api("GET", `${path}/commits`)).json[0];
    expect(await contentOf(4)).toMatchObject({
      Commits: [{ Sha1: head.sha, Message: "Add a\n", AuthorName: mira }],
      HeadCommit: { Sha1: head.sha },
      CompareURL: `${mira}/${name}/compare/${head.parents[0].sha}...${head.sha}`,
    });
    await expect
      .poll(() => contentOf(2), { interval: 10 })
      .toMatchObject({
        Commits: [],
        HeadCommit: { Sha1: head.sha },
      });
  });

  test("new names, transfers and repositories from templates are recorded", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira, { auto_init: true });
    const path = `/repos/${mira}/${name}`;
    await ok(by(mira, "PATCH", path, { template: true }));
    const made = { owner: mira, name: `${name}-copy`, git_content: true };
    await ok(by(mira, "POST", `${path}/generate`, made));
    expect(await kindsOf("", feedOfRepository(mira, `${name}-copy`))).toEqual(["create_repo"]);
    await ok(by(mira, "PATCH", path, { name: `${name}-new` }));
    await ok(by(mira, "POST", `/repos/${mira}/${name}-new/transfer`, { new_owner: nora }));
    await ok(by(nora, "POST", `/repos/${mira}/${name}-new/transfer/accept`));
    const [transferred, renamed] = await listOf("", feedOfRepository(nora, `${name}-new`));
    expect(transferred).toMatchObject({
      op_type: "transfer_repo",
      content: `${mira}/${name}-new`,
      repo: { full_name: `${nora}/${name}-new` },
    });
    expect(renamed).toMatchObject({ op_type: "rename_repo", content: name });
    // The former name of the repository leads on.
    const moved = await daemon.request(`/api/v1${feedOfRepository(mira, name)}`, {
      token: people.admin,
    });
    expect([moved.status, moved.headers.get("location")]).toEqual([
      307,
      `/api/v1/repos/${nora}/${name}-new/activities/feeds`,
    ]);
  });
});

describe("feeds", () => {
  test("a user's feed has the user's activities, and those of others in watched repositories", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    const path = `/repos/${mira}/${name}`;
    await ok(by(nora, "PUT", `${path}/subscription`));
    await ok(by(mira, "POST", `${path}/issues`, { title: "one" }));
    await ok(by(nora, "POST", `${path}/issues/1/comments`, { body: "two" }));
    expect(await kindsOf(nora, feedOfUser(nora))).toEqual(["comment_issue", "create_issue"]);
    const performed = `${feedOfUser(nora)}?only-performed-by=true`;
    expect(await kindsOf(nora, performed)).toEqual(["comment_issue"]);
    const { id } = (await api("GET", `/users/${nora}`)).json;
    for (const each of await listOf(mira, feedOfUser(nora))) expect(each.user_id).toBe(id);
    const day = new Date().toISOString().slice(0, 10);
    expect(await kindsOf(nora, `${feedOfUser(nora)}?date=${day}`)).toHaveLength(2);
    expect(await kindsOf(nora, `${feedOfUser(nora)}?date=2020-02-03`)).toEqual([]);
    for (const date of ["yesterday", "2026-13-45", "2026-1-1"])
      expect(await kindsOf(nora, `${feedOfUser(nora)}?date=${date}`)).toHaveLength(2);
    const page = await as(nora, `${feedOfUser(nora)}?limit=1&page=2`);
    expect(page.json).toHaveLength(1);
    expect(page.headers.get("x-total-count")).toBe("2");
    expect(page.headers.get("link")).toContain('page=1>; rel="prev"');
    expect((await as("", feedOfUser("nobody-has-this"))).status).toBe(404);
  });

  test("feeds of organizations and teams have the activities in their repositories", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const org = `crew-${mira}`;
    await ok(by(mira, "POST", "/orgs", { username: org }));
    for (const name of ["hall", "shed"])
      await ok(by(mira, "POST", `/orgs/${org}/repos`, { name, private: name === "shed" }));
    const team = await ok(
      by(mira, "POST", `/orgs/${org}/teams`, {
        name: "readers",
        units_map: { "repo.issues": "read" },
        includes_all_repositories: false,
        visibility: "private",
      }),
    );
    await ok(by(mira, "PUT", `/teams/${team.id}/members/${nora}`));
    await ok(by(mira, "PUT", `/teams/${team.id}/repos/${org}/shed`));
    await ok(by(mira, "POST", `/repos/${org}/shed/issues`, { title: "Leak" }));
    await ok(by(mira, "POST", `/repos/${org}/shed/contents/x`, { content: base64("x") }));

    const feed = `/orgs/${org}/activities/feeds`;
    expect(await kindsOf(mira, feed)).toEqual([
      "commit_repo",
      "create_issue",
      "create_repo",
      "create_repo",
    ]);
    const { id } = (await api("GET", `/orgs/${org}`)).json;
    for (const each of await listOf(mira, feed)) expect(each.user_id).toBe(id);
    // A user who may read only issues sees no pushes.
    expect(await kindsOf(nora, feed)).toEqual(["create_issue", "create_repo", "create_repo"]);
    for (const caller of [otto, ""]) expect(await kindsOf(caller, feed)).toEqual(["create_repo"]);
    expect(await kindsOf(mira, feedOfUser(org))).toHaveLength(4);
    const heat = (await as("", `/users/${org}/heatmap`)).json;
    expect(heat).toMatchObject([{ contributions: 1 }]);

    const ofTeam = `/teams/${team.id}/activities/feeds`;
    expect(await kindsOf(nora, ofTeam)).toEqual(["create_issue", "create_repo"]);
    for (const each of await listOf(mira, ofTeam)) expect(each.repo.full_name).toBe(`${org}/shed`);
    expect((await as(otto, ofTeam)).status).toBe(404);
    expect((await as("", ofTeam)).status).toBe(401);
    await ok(by(mira, "DELETE", `/teams/${team.id}/members/${nora}`));
    expect(await kindsOf(nora, feed)).toEqual(["create_repo"]);
    expect([403, 404]).toContain((await as(nora, ofTeam)).status);

    expect((await as("", `/orgs/${mira}/activities/feeds`)).status).toBe(404);
    await ok(by(mira, "PATCH", `/orgs/${org}`, { visibility: "private" }));
    for (const caller of [otto, ""]) expect((await as(caller, feed)).status).toBe(404);
  });
});

describe("visibility of activities", () => {
  test("activity of a private repository is visible to callers who may read it now", async () => {
    const [mira, nora, otto] = [await newUser(), await newUser(), await newUser()];
    const name = await newRepository(mira);
    const path = `/repos/${mira}/${name}`;
    await ok(by(nora, "PUT", `${path}/subscription`));
    await ok(by(otto, "PUT", `${path}/subscription`));
    await ok(by(mira, "POST", `${path}/issues`, { title: "Secret plan" }));
    const feeds = [feedOfUser(mira), feedOfUser(nora), feedOfUser(otto)];
    const everywhere = async (caller: string) => {
      const kindsOfFeeds = await Promise.all(feeds.map((feed) => kindsOf(caller, feed)));
      return kindsOfFeeds.filter((kinds) => kinds.includes("create_issue")).length;
    };
    const callers = [mira, nora, otto, ""];
    const countsByCaller = async () => Promise.all(callers.map(everywhere));
    expect(await countsByCaller()).toEqual([3, 3, 3, 3]);
    await ok(by(mira, "PATCH", path, { private: true }));
    expect(await countsByCaller()).toEqual([3, 0, 0, 0]);
    for (const caller of [nora, otto, ""])
      expect((await as(caller, feedOfRepository(mira, name))).status).toBe(404);
    await ok(by(mira, "PUT", `${path}/collaborators/${nora}`, { permission: "read" }));
    expect(await countsByCaller()).toEqual([3, 3, 0, 0]);
    expect((await listOf(nora, feedOfRepository(mira, name)))[0]).toMatchObject({
      is_private: true,
    });
    await ok(by(mira, "DELETE", `${path}/collaborators/${nora}`));
    expect(await countsByCaller()).toEqual([3, 0, 0, 0]);
    await ok(by(mira, "PATCH", path, { private: false }));
    expect(await countsByCaller()).toEqual([3, 3, 3, 3]);
    await ok(by(mira, "DELETE", path));
    expect(await countsByCaller()).toEqual([0, 0, 0, 0]);
  });

  test("the activity of a part that a repository no longer has is hidden until it has it again", async () => {
    const mira = await newUser();
    const name = await newRepository(mira, { auto_init: true });
    const path = `/repos/${mira}/${name}`;
    await ok(by(mira, "POST", `${path}/branches`, { new_branch_name: "next" }));
    await ok(by(mira, "POST", `${path}/releases`, { tag_name: "v1" }));
    const feed = feedOfRepository(mira, name);
    const all = ["publish_release", "push_tag", "commit_repo", "create_repo"];
    expect(await kindsOf("", feed)).toEqual(all);
    await ok(by(mira, "PATCH", path, { has_releases: false }));
    expect(await kindsOf("", feed)).toEqual(all.slice(1));
    await ok(by(mira, "PATCH", path, { has_code: false }));
    expect(await kindsOf("", feed)).toEqual(["create_repo"]);
    await ok(by(mira, "PATCH", path, { has_code: true, has_releases: true }));
    expect(await kindsOf("", feed)).toEqual(all);
  });

  test("users who hide their activity are absent from feeds of others, and deleted ones from all", async () => {
    const [mira, nora] = [await newUser(), await newUser()];
    const name = await newRepository(mira);
    await ok(by(nora, "POST", `/repos/${mira}/${name}/issues`, { title: "one" }));
    const feed = feedOfRepository(mira, name);
    const counts = async () => {
      const callers = [mira, nora, ""];
      const lists = await Promise.all(callers.map((caller) => kindsOf(caller, feed)));
      return lists.map((kinds) => kinds.length);
    };
    expect(await counts()).toEqual([2, 2, 2]);
    await ok(by(nora, "PATCH", "/user/settings", { hide_activity: true }));
    expect(await counts()).toEqual([1, 2, 1]);
    expect(await kindsOf(mira, feedOfUser(nora))).toEqual([]);
    expect(await kindsOf(nora, feedOfUser(nora))).toEqual(["create_issue"]);
    expect((await api("GET", feedOfUser(nora))).json).toHaveLength(1);
    await ok(by(nora, "PATCH", "/user/settings", { hide_activity: false }));
    const edit = { source_id: 0, login_name: nora };
    await ok(api("PATCH", `/admin/users/${nora}`, { ...edit, visibility: "private" }));
    expect(await counts()).toEqual([1, 2, 1]);
    expect((await as(mira, feedOfUser(nora))).status).toBe(404);
    await ok(api("PATCH", `/admin/users/${nora}`, { ...edit, visibility: "limited" }));
    expect(await counts()).toEqual([2, 2, 1]);
    await ok(api("PATCH", `/admin/users/${nora}`, { ...edit, visibility: "public" }));

    // An account that may not sign in cannot read its own feed; its activities remain.
    await ok(api("PATCH", `/admin/users/${nora}`, { ...edit, prohibit_login: true }));
    expect([401, 403]).toContain((await as(nora, feedOfUser(nora))).status);
    expect(await kindsOf(mira, feed)).toHaveLength(2);
    await ok(api("PATCH", `/admin/users/${nora}`, { ...edit, active: false }));
    expect(await kindsOf(mira, feed)).toHaveLength(2);
    await ok(api("DELETE", `/admin/users/${nora}?purge=true`));
    expect(await kindsOf(mira, feed)).toEqual(["create_repo"]);
  });

  test("tokens need the scope of the path, and public-only tokens see only public activities", async () => {
    const mira = await newUser();
    const [open, secret] = ["open", "secret"];
    for (const name of [open, secret])
      await ok(by(mira, "POST", "/user/repos", { name, private: name === secret }));
    const get = async (scopes: readonly string[], path: string) => {
      const token = await newToken(mira, scopes);
      const { status, json } = await api("GET", path, undefined, token);
      return status === 200 ? json.length : status;
    };
    const ofSecret = feedOfRepository(mira, secret);
    expect(await get(["read:user"], feedOfUser(mira))).toBe(2);
    expect(await get(["read:repository"], feedOfUser(mira))).toBe(403);
    expect(await get(["read:repository"], ofSecret)).toBe(1);
    expect(await get(["read:user"], ofSecret)).toBe(403);
    expect(await get(["public-only", "read:repository"], ofSecret)).toBe(404);
    expect(await get(["public-only", "read:repository"], feedOfRepository(mira, open))).toBe(1);
    expect(await get(["public-only", "read:user"], feedOfUser(mira))).toBe(1);
  });
});
