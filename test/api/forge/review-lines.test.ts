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

const toContent = (text: string) => Buffer.from(text, "latin1").toString("base64");
const LINES = "one\ntwo\nthree\nfour\n";

/**
 * Opens a pull request of otto, from a fork of mira's repository, that changes the third and fourth line of a file; rita may
 * write to the base, zoe may read.
 */
async function newPull(after = "one\ntwo\nTHREE\nFOUR\nfive\n") {
  const name = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${name}`;
  await by("mira", "PUT", `${path}/collaborators/rita`, { permission: "write" });
  await by("mira", "POST", `${path}/contents/file.txt`, { content: toContent(LINES) });
  await by("otto", "POST", `${path}/forks`, { name });
  const fork = `/repos/otto/${name}`;
  await write(fork, after, { new_branch: "topic" });
  const opened = { head: "otto:topic", base: "main", title: "Change" };
  expect((await by("otto", "POST", `${path}/pulls`, opened)).status).toBe(201);
  return { path, fork, pull: `${path}/pulls/1`, home: `/mira/${name}/pulls/1` };
}

/** Writes the file on a branch, `topic` unless another one is given. */
async function write(path: string, text: string, more: object = { branch: "topic" }) {
  const ref = "branch" in more ? `?ref=${String(more.branch)}` : "";
  const { sha } = (await by("otto", "GET", `${path}/contents/file.txt${ref}`)).json;
  const who = path.startsWith("/repos/mira") ? "mira" : "otto";
  const body = { content: toContent(text), sha, ...more };
  expect((await by(who, "PUT", `${path}/contents/file.txt`, body)).status).toBe(200);
}

/** Comments on lines as rita and returns the ids of the comments. */
async function comment(pull: string, ...comments: object[]): Promise<number[]> {
  const review = await by("rita", "POST", `${pull}/reviews`, {
    event: "COMMENT",
    body: "See below",
    comments: comments.map((each) => ({ path: "file.txt", body: "Why?", ...each })),
  });
  expect(review.status).toBe(200);
  return (await linesOf(pull, review.json.id)).map(({ id }) => id);
}

interface Line {
  readonly id: number;
  readonly body: string;
  readonly position: number;
  readonly original_position: number;
  readonly line: number;
  readonly outdated: boolean;
}

const linesOf = async (pull: string, review: number): Promise<Line[]> =>
  (await by("rita", "GET", `${pull}/reviews/${review}/comments`)).json;

/** The comments of a pull request as "position original_position: line". */
async function places(pull: string): Promise<string[]> {
  const reviews = (await by("rita", "GET", `${pull}/reviews`)).json;
  const lines = await Promise.all(reviews.map(({ id }: { id: number }) => linesOf(pull, id)));
  return (lines.flat() as Line[]).map(
    (each) =>
      `${each.position} ${each.original_position}: ${each.outdated ? "outdated" : each.line}`,
  );
}

async function expectPlaces(pull: string, expected: readonly string[]): Promise<void> {
  await expect.poll(() => places(pull), { interval: 20 }).toEqual(expected);
}

/** The page of a pull request, as rita sees it, and what its forms do. */
const show = async (home: string, cookie = "") =>
  (await daemon.request(home, { headers: { accept: "text/html", cookie } })).text;

test("comments follow their lines over pushes to head and base, and are outdated once the line changes", async () => {
  const { path, fork, pull, home } = await newPull();
  await comment(
    pull,
    { new_position: 1 },
    { new_position: 4 },
    { new_position: 5 },
    { old_position: 4 },
  );
  const first = (await by("rita", "GET", pull)).json.head.sha;
  expect(await places(pull)).toEqual(["1 0: 1", "4 0: 4", "5 0: 5", "0 4: 4"]);
  await write(fork, "zero\none\ntwo\nTHREE\nFOUR!\nfive\n");
  await expectPlaces(pull, ["1 0: 2", "4 0: outdated", "5 0: 6", "0 4: 4"]);
  const [line] = await linesOf(pull, (await by("rita", "GET", `${pull}/reviews`)).json[0].id);
  expect(line).toMatchObject({ commit_id: first, original_commit_id: first });
  expect(await show(home)).toMatch(/<details class="conversation"><summary>.*Outdated/);
  // The line comes back with its text.
  await write(fork, "zero\none\ntwo\nTHREE\nFOUR\nfive\n");
  await expectPlaces(pull, ["1 0: 2", "4 0: 5", "5 0: 6", "0 4: 4"]);
  // The base moves a line of the old file once the head has the commit.
  await write(path, `minus\nzero\n${LINES}`, { branch: "main" });
  expect((await by("otto", "POST", `${pull}/update`)).status).toBeOneOf([200, 409]);
  await by("otto", "DELETE", `${fork}/contents/file.txt`, {
    sha: (await by("otto", "GET", `${fork}/contents/file.txt?ref=topic`)).json.sha,
    branch: "topic",
  });
  await expectPlaces(pull, ["1 0: outdated", "4 0: outdated", "5 0: outdated", "0 4: 4"]);
});

const suggestion = (...lines: string[]) => ["Better:", "```suggestion", ...lines, "```"].join("\n");
const apply = (pull: string, who: string, comments: readonly number[], more: object = {}) =>
  by(who, "POST", `${pull}/suggestions`, { comments, ...more });
const fileOf = async (fork: string) =>
  Buffer.from(
    (await by("otto", "GET", `${fork}/contents/file.txt?ref=topic`)).json.content,
    "base64",
  ).toString("latin1");

test("suggestions are applied in one commit on the head, with their author as co-author, and resolve their conversations", async () => {
  const { fork, pull, home } = await newPull("one\r\ntwo\nTHREE\xff\nFOUR\nfive");
  const ids = await comment(
    pull,
    { new_position: 1, body: suggestion("1", "uno") },
    { new_position: 5, body: suggestion() },
    { new_position: 2 },
    { new_position: 4, body: suggestion("four é") },
  );
  expect(await show(home)).toContain("+four é");
  const made = await apply(pull, "otto", [ids[0] ?? 0, ids[1] ?? 0]);
  expect(made.status, made.text).toBe(201);
  expect(await fileOf(fork)).toBe("1\r\nuno\r\ntwo\nTHREE\xff\nFOUR\n");
  const { commit, parents } = (await by("otto", "GET", `${fork}/git/commits/${made.json.sha}`))
    .json;
  expect(parents).toHaveLength(1);
  expect(commit.message.trim()).toMatch(
    /^Apply suggestions to file\.txt\n\nCo-authored-by: rita <.*>$/,
  );
  expect(commit.author.name).toBe("otto");
  await expectPlaces(pull, ["1 0: outdated", "5 0: outdated", "2 0: 3", "4 0: 5"]);
  const [review] = (await by("rita", "GET", `${pull}/reviews`)).json;
  const [first, , third] = (await by("rita", "GET", `${pull}/reviews/${review.id}/comments`)).json;
  expect([first.resolver.login, third.resolver]).toEqual(["otto", null]);
  // The commit has moved the other line; rita may write to the base, so she may edit the head.
  const second = await apply(pull, "rita", [ids[3] ?? 0], { message: "Mend it" });
  expect(second.status).toBe(201);
  expect(await fileOf(fork)).toBe("1\r\nuno\r\ntwo\nTHREE\xff\nfour \xc3\xa9\n");
  const { message } = (await by("otto", "GET", `${fork}/git/commits/${second.json.sha}`)).json
    .commit;
  expect(message.trim()).toBe("Mend it");
});

test("a suggestion is refused in words: without the right, for a changed line, another comment or a closed pull request", async () => {
  const { fork, pull } = await newPull();
  const [id = 0, plain = 0, same = 0, old = 0] = await comment(
    pull,
    { new_position: 3, body: suggestion("drei") },
    { new_position: 2 },
    { new_position: 3, body: suggestion("trois") },
    { old_position: 3, body: suggestion("tres") },
  );
  expect((await apply(pull, "zoe", [id])).status).toBe(403);
  expect((await by("", "POST", `${pull}/suggestions`, { comments: [id] })).status).toBe(401);
  expect(await apply(pull, "otto", [id, same])).toMatchObject({
    status: 422,
    json: { message: "two suggestions change line 3 of file.txt" },
  });
  for (const [comments, status] of [
    [[plain], 422],
    [[old], 422],
    [[99_999], 404],
    [[], 422],
  ] as const)
    expect((await apply(pull, "otto", comments)).status).toBe(status);
  const pending = await by("rita", "POST", `${pull}/reviews`, {
    body: "Later",
    comments: [{ path: "file.txt", new_position: 4, body: suggestion("vier") }],
  });
  const [hidden] = await linesOf(pull, pending.json.id);
  expect((await apply(pull, "otto", [hidden?.id ?? 0])).status).toBe(404);
  const other = await newPull();
  expect((await apply(other.pull, "otto", [id])).status).toBe(404);

  await write(fork, "one\ntwo\nTHREE!\nFOUR\nfive\n");
  await expect
    .poll(async () => apply(pull, "otto", [id]), { interval: 20 })
    .toMatchObject({
      status: 409,
      json: { message: "the line of file.txt was changed after the suggestion" },
    });
  await by("otto", "PATCH", pull, { state: "closed" });
  expect((await apply(pull, "otto", [id])).status).toBe(422);
});

test("a reply joins the conversation, which writers and the author resolve and open again", async () => {
  const { path, pull } = await newPull();
  const [id = 0] = await comment(pull, { new_position: 3 });
  const reply = await by("zoe", "POST", `${pull}/comments/${id}/replies`, { body: "Because." });
  expect(reply).toMatchObject({ status: 201, json: { position: 3, line: 3, outdated: false } });
  for (const who of ["rita", "otto"]) {
    expect((await by(who, "POST", `${path}/pulls/comments/${id}/resolve`)).status).toBe(204);
    expect((await by(who, "POST", `${path}/pulls/comments/${id}/unresolve`)).status).toBe(204);
  }
  expect((await by("zoe", "POST", `${path}/pulls/comments/${id}/resolve`)).status).toBe(403);
});

test("comments on one long line stay small, and a review, its list and its page have a maximum of them", async () => {
  const { pull, home } = await newPull(`one\n${"x".repeat(100_000)}\nthree\n`);
  const [first = 0] = await comment(pull, { new_position: 2 });
  const reviews = (await by("rita", "GET", `${pull}/reviews`)).json;
  const [line] = (await by("rita", "GET", `${pull}/reviews/${reviews[0].id}/comments`)).json;
  expect(line.diff_hunk.length).toBeLessThan(20_000);
  const reply = (body: string) => by("zoe", "POST", `${pull}/comments/${first}/replies`, { body });
  expect((await reply("Because.")).json.diff_hunk).toBe(line.diff_hunk);

  // A pending review grows until it is submitted.
  const one = { path: "file.txt", body: "Why?", new_position: 1 };
  const add = (count: number) =>
    by("rita", "POST", `${pull}/reviews`, {
      body: "See below",
      comments: Array.from({ length: count }, () => one),
    });
  for (let round = 0; round < 10; round += 1) {
    const added = await add(100);
    expect(added.status, added.text).toBe(200);
  }
  const more = await add(1);
  expect([more.status, more.json.message]).toEqual([
    422,
    "a review has at most 1000 comments on lines, of 4194304 bytes in all",
  ]);
  const { id } = (await by("rita", "GET", `${pull}/reviews`)).json.at(-1);
  expect((await by("rita", "GET", `${pull}/reviews/${id}/comments`)).json).toHaveLength(1_000);
  const submitted = await by("rita", "POST", `${pull}/reviews/${id}`, { event: "COMMENT" });
  expect(submitted.status).toBe(200);
  const [, inLarge] = (await by("zoe", "GET", `${pull}/reviews/${id}/comments`)).json;
  const late = await by("zoe", "POST", `${pull}/comments/${inLarge.id}/replies`, { body: "No" });
  expect(late.status).toBe(422);
  const count = async (page: string) => (await show(page)).match(/id="issuecomment-/g)?.length ?? 0;
  const onPage = await count(home);
  expect(onPage).toBeGreaterThan(400);
  expect(onPage).toBeLessThan(520);
  expect(await count(`${home}/files`)).toBeLessThan(520);
});

test("the texts of a review have a maximum of bytes", async () => {
  const { pull } = await newPull();
  const body = "y".repeat(250_000);
  const [id = 0] = await comment(pull, { new_position: 3, body });
  const statuses = new Set<number>();
  let count = 1;
  while (!statuses.has(422) && count < 30) {
    statuses.add((await by("zoe", "POST", `${pull}/comments/${id}/replies`, { body })).status);
    count += 1;
  }
  // 16 texts of 250,000 bytes are 4 MB, and 17 more than 4 MiB.
  expect([[...statuses], count]).toEqual([[201, 422], 17]);
});

test("a comment on a line is edited and deleted by its author and writers, as those of the conversation", async () => {
  const { path, pull } = await newPull();
  const [id = 0] = await comment(pull, { new_position: 3 });
  const at = `${path}/issues/comments/${id}`;
  const [{ id: review }] = (await by("rita", "GET", `${pull}/reviews`)).json;
  const texts = async () =>
    (await by("zoe", "GET", `${pull}/reviews/${review}/comments`)).json.map(
      ({ body }: { body: string }) => body,
    );
  expect(await by("rita", "PATCH", at, { body: "Why three?" })).toMatchObject({
    status: 200,
    json: { id, body: "Why three?", user: { login: "rita" } },
  });
  expect((await by("otto", "PATCH", at, { body: "No" })).status).toBe(403);
  expect((await by("otto", "DELETE", at)).status).toBe(403);
  const former = `${path}/issues/1/comments/${id}`;
  expect((await by("mira", "PATCH", former, { body: "Why 3?" })).status).toBe(200);
  expect(await texts()).toEqual(["Why 3?"]);
  const { number } = (await by("mira", "POST", `${path}/issues`, { title: "Named" })).json;
  await by("rita", "PATCH", at, { body: `See #${number}` });
  const timeline = (await by("mira", "GET", `${path}/issues/${number}/timeline`)).json;
  expect(timeline.map(({ type }: { type: string }) => type)).toEqual(["comment_ref"]);
  expect((await by("rita", "DELETE", at)).status).toBe(204);
  expect((await by("rita", "DELETE", at)).status).toBe(404);
  expect(await texts()).toEqual([]);
  expect((await by("rita", "GET", pull)).json.comments).toBe(1);
});

test("a comment of a pending review is changed by its reviewer, without an event or a mention", async () => {
  const { path, pull } = await newPull();
  const lines = [{ path: "file.txt", body: "Why?", new_position: 3 }];
  const pending = await by("rita", "POST", `${pull}/reviews`, { body: "So far", comments: lines });
  const [{ id }] = (await by("rita", "GET", `${pull}/reviews/${pending.json.id}/comments`)).json;
  const at = `${path}/issues/comments/${id}`;
  expect((await by("mira", "PATCH", at, { body: "Seen" })).status).toBe(404);
  expect((await by("mira", "DELETE", at)).status).toBe(404);
  const { number } = (await by("mira", "POST", `${path}/issues`, { title: "Named" })).json;
  expect((await by("rita", "PATCH", at, { body: `See #${number}` })).status).toBe(200);
  expect((await by("mira", "GET", `${path}/issues/${number}/timeline`)).json).toEqual([]);
  expect((await by("rita", "DELETE", at)).status).toBe(204);
});

test("the comments on lines of all reviews are one list, without those of pending reviews of others", async () => {
  const { path, fork, pull, home } = await newPull();
  const [first = 0] = await comment(pull, { new_position: 1, body: "About one" });
  const [second = 0] = await comment(pull, { new_position: 4, body: "About four" });
  const lines = [{ path: "file.txt", body: "Not yet", new_position: 3 }];
  await by("zoe", "POST", `${pull}/reviews`, { body: "So far", comments: lines });
  const list = async (query = "", who = "rita") => {
    const { json, headers } = await by(who, "GET", `${pull}/reviews/comments${query}`);
    return [json.map(({ body }: Line) => body), headers.get("x-total-count")];
  };
  expect(await list()).toEqual([["About one", "About four"], "2"]);
  expect(await list("", "zoe")).toEqual([["About one", "About four", "Not yet"], "3"]);
  const reviews = (await by("rita", "GET", `${pull}/reviews`)).json;
  expect(await list(`?reviews=${reviews[1].id},7777`)).toEqual([["About four"], "1"]);
  expect(await list("?reviews=x")).toEqual([[], "0"]);
  const many = Array.from({ length: 101 }, (_, at) => at).join(",");
  expect((await by("rita", "GET", `${pull}/reviews/comments?reviews=${many}`)).status).toBe(422);
  const none = await by("rita", "GET", `${path}/pulls/99/reviews/comments`);
  expect(none.status).toBe(404);
  await write(fork, "one\ntwo\nTHREE\nFOUR!\nfive\n");
  await expectPlaces(pull, ["1 0: 1", "4 0: outdated"]);
  expect(await list("?outdated=true")).toEqual([["About four"], "1"]);
  expect(await list("?outdated=false")).toEqual([["About one"], "1"]);
  // The page of the changes has those whose lines it shows, that of the conversation all.
  const changes = await show(`${home}/files`);
  expect([changes.includes("About one"), changes.includes("About four")]).toEqual([true, false]);
  const talk = await show(home);
  expect([talk.includes("About one"), talk.includes("About four")]).toEqual([true, true]);
  expect(talk).not.toContain("Not yet");
  // The API of comments has those of the conversation only, as Gitea's: 204 for others.
  const entry = (id: number, who = "rita") => by(who, "GET", `${path}/issues/comments/${id}`);
  expect([(await entry(first)).status, (await entry(second)).status]).toEqual([204, 204]);
  const hidden = (await by("zoe", "GET", `${pull}/reviews/comments`)).json.at(-1);
  expect([(await entry(hidden.id)).status, (await entry(hidden.id, "zoe")).status]).toEqual([
    404, 204,
  ]);
});

test("an edited comment on a line counts against the maximum of its review", async () => {
  const { path, pull } = await newPull();
  const body = "y".repeat(250_000);
  const [first = 0] = await comment(pull, { new_position: 3, body });
  const reply = async (text: string) =>
    (await by("zoe", "POST", `${pull}/comments/${first}/replies`, { body: text })).json.id;
  for (let count = 1; count < 16; count += 1) await reply(body);
  const last = await reply("Because.");
  const edit = async (id: number, text: string) =>
    (await by("rita", "PATCH", `${path}/issues/comments/${id}`, { body: text })).status;
  expect(await edit(last, body)).toBe(422);
  expect(await edit(first, "Shorter")).toBe(200);
  expect(await edit(last, body)).toBe(200);
});
