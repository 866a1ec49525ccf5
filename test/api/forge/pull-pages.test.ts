import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "rita"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

const suggestion = {
  path: "tea.txt",
  body: "```suggestion\ngreen tea\n```",
  new_position: 1,
};
const toContent = (text: string) => Buffer.from(text).toString("base64");

/** Signs in at the page, and returns how its forms are sent: with the cookie and the token of the session. */
async function signIn(name: string) {
  const body = new URLSearchParams({ user_name: name, password: "user-password" });
  const answer = await fetch(`${daemon.url}/user/login`, {
    method: "POST",
    body,
    redirect: "manual",
    headers: { origin: daemon.url },
  });
  const cookie = (answer.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
  const get = (path: string) => daemon.request(path, { headers: { cookie } });
  return {
    get,
    async send(path: string, page: string, fields: Readonly<Record<string, string>>) {
      const token = /name="form_token"[^>]*value="([^"]+)"/.exec((await get(page)).text)?.[1] ?? "";
      const sent = await fetch(`${daemon.url}${path}`, {
        method: "POST",
        body: new URLSearchParams({ form_token: token, ...fields }),
        redirect: "manual",
        headers: { cookie, origin: daemon.url },
      });
      const location = sent.headers.get("location");
      return { status: sent.status, text: await sent.text(), location };
    },
  };
}

test("a pull request is opened from the comparison of two branches", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  await by("mira", "POST", `/repos/mira/${repo}/contents/cup.txt`, {
    content: toContent("cup\n"),
    new_branch: "feature/cup",
    message: "Add a cup",
  });
  const address = `/mira/${repo}/compare/main...feature/cup`;
  const mira = await signIn("mira");
  const page = (await mira.get(address)).text;
  expect(page).toContain('value="Add a cup"');
  const opened = await mira.send(address, address, { title: "A cup", body: "" });
  expect(opened.status).toBe(303);
  expect((await by("mira", "GET", `/repos/mira/${repo}/pulls/1`)).json).toMatchObject({
    title: "A cup",
    base: { ref: "main" },
    head: { ref: "feature/cup" },
  });
  const again = await mira.send(address, address, { title: "Twice", body: "" });
  expect([again.status, again.text.includes("already exists")]).toEqual([422, true]);
  expect((await mira.get(`/mira/${repo}/compare/main...none`)).status).toBe(404);
});

test("a pull request is read, reviewed, commented and merged in a browser", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  await by("mira", "POST", `${path}/contents/tea.txt`, {
    content: toContent("<b>tea</b>\n"),
    new_branch: "topic",
    message: "Add tea",
  });
  const opened = { head: "topic", base: "main", title: "Add <i>tea</i>", body: "It is **green**." };
  expect((await by("mira", "POST", `${path}/pulls`, opened)).status).toBe(201);
  await expect
    .poll(async () => (await by("mira", "GET", `${path}/pulls/1`)).json.mergeable, {
      timeout: 60_000,
    })
    .toBe(true);

  const home = `/mira/${repo}/pulls/1`;
  const list = (await daemon.request(`/mira/${repo}/pulls`)).text;
  expect(list).toContain("Add &lt;i&gt;tea&lt;/i&gt;");
  expect(list).toContain("Open (1)");
  expect((await daemon.request(`/mira/${repo}/pulls?q=coffee`)).text).toContain(
    "No pull request matches",
  );
  const issue = await fetch(`${daemon.url}/mira/${repo}/issues/1`, { redirect: "manual" });
  expect([issue.status, issue.headers.get("location")]).toEqual([303, home]);

  const otto = await signIn("otto");
  const shown = (await otto.get(home)).text;
  for (const text of [
    "<strong>green</strong>",
    "no conflict",
    "It can be merged into main",
    "Approve",
    "Merge as one commit",
  ])
    expect(shown).toContain(text);
  expect((await daemon.request(home)).text).not.toContain("Approve");
  expect((await otto.get(`${home}/commits`)).text).toContain("Add tea");
  const files = (await otto.get(`${home}/files`)).text;
  expect(files).toContain("+&lt;b&gt;tea&lt;/b&gt;");
  expect((await otto.get(`/mira/${repo}/pulls/9`)).status).toBe(404);

  await by("otto", "POST", `${path}/pulls/1/reviews`, {
    event: "COMMENT",
    comments: [{ path: "tea.txt", body: "<u>Why?</u>", new_position: 1 }],
  });
  const approved = await otto.send(`${home}/reviews`, home, { event: "APPROVED", body: "Fine" });
  expect(approved.status).toBe(303);
  expect((await otto.send(`${home}/comments`, home, { body: "Done" })).status).toBe(303);
  const conversation = (await otto.get(home)).text;
  for (const text of ["approved", "Fine", "Done", "<u>Why?</u>"])
    expect(conversation).toContain(text);

  const mira = await signIn("mira");
  const suggested = { event: "COMMENT", body: "Or:", comments: [suggestion] };
  const { id } = (await by("otto", "POST", `${path}/pulls/1/reviews`, suggested)).json;
  const [line] = (await by("otto", "GET", `${path}/pulls/1/reviews/${id}/comments`)).json;
  expect((await mira.get(home)).text).toContain("+green tea");
  const lines = `${home}/lines/${line.id}`;
  expect((await mira.send(`${lines}/replies`, home, { body: "Right" })).status).toBe(303);
  expect((await mira.send(`${lines}/resolution`, home, { resolved: "yes" })).status).toBe(303);
  expect((await mira.get(home)).text).toContain("resolved by mira");
  expect((await mira.send(`${lines}/resolution`, home, { resolved: "no" })).status).toBe(303);
  const apply = { comments: String(line.id) };
  expect((await mira.send(`${home}/suggestions`, home, apply)).status).toBe(303);
  const green = (await by("mira", "GET", `${path}/raw/tea.txt?ref=topic`)).text;
  expect(green).toBe("green tea\n");
  await expect
    .poll(async () => (await mira.get(home)).text, { interval: 50 })
    .toContain("Outdated, resolved by mira");
  const late = await mira.send(`${home}/suggestions`, home, apply);
  expect([late.status, late.text.includes("was changed after the suggestion")]).toEqual([
    422,
    true,
  ]);
  await expect
    .poll(async () => (await by("mira", "GET", `${path}/pulls/1`)).json.mergeable)
    .toBe(true);
  const own = await mira.send(`${home}/reviews`, home, { event: "APPROVED" });
  expect([own.status, own.text.includes("approve your own pull is not allowed")]).toEqual([
    422,
    true,
  ]);
  const stale = await mira.send(`${home}/merge`, home, { style: "squash", head: "0".repeat(40) });
  expect([stale.status, stale.text.includes("head out of date")]).toEqual([422, true]);
  const head = (await by("mira", "GET", `${path}/pulls/1`)).json.head.sha;
  const merged = { style: "squash", head, delete: "yes" };
  expect((await mira.send(`${home}/merge`, home, merged)).status).toBe(303);
  expect((await by("mira", "GET", `${path}/pulls/1`)).json).toMatchObject({ merged: true });
  expect((await mira.get(home)).text).toContain("merged by mira");
  expect((await mira.get(`/mira/${repo}/pulls?state=closed`)).text).toContain("merged");
  expect((await daemon.request(home)).text).not.toContain("/revert");
  expect((await mira.get(home)).text).toContain(`action="${home}/revert"`);
  expect((await mira.send(`${home}/revert`, home, {})).status).toBe(303);
  const reverting = (await mira.get(`/mira/${repo}/pulls`)).text;
  expect(reverting).toContain("Revert &quot;Add &lt;i&gt;tea&lt;/i&gt;&quot;");
});

test("a line of the changes is commented, answered and resolved on the page of the changes", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  const added = { content: toContent("one\ntwo\n"), new_branch: "topic", message: "Add" };
  await by("mira", "POST", `${path}/contents/list.txt`, added);
  await by("mira", "POST", `${path}/pulls`, { head: "topic", base: "main", title: "A list" });
  const files = `/mira/${repo}/pulls/1/files`;
  expect((await daemon.request(`${files}?on=1.R2`)).text).not.toContain("#on");

  const otto = await signIn("otto");
  expect((await otto.get(files)).text).toContain('href="?on=1.R2#on"');
  const chosen = `${files}?on=1.R2`;
  expect((await otto.get(chosen)).text).toContain("Comment on line 2");
  expect((await otto.get(`${chosen}&suggest=yes`)).text).toContain("```suggestion\ntwo\n```");
  const head = (await by("mira", "GET", `${path}/pulls/1`)).json.head.sha;
  const fields = { path: "list.txt", position: "R2", commit: head };
  const body = "Why **two**?\n\n```suggestion\ndrei\n```";
  const sent = await otto.send(chosen, chosen, { ...fields, body });
  expect([sent.status, sent.location]).toEqual([
    303,
    expect.stringMatching(/\/pulls\/1\/files#issuecomment-\d+$/),
  ]);
  const shown = (await otto.get(files)).text;
  expect(shown).toContain("Why <strong>two</strong>?");
  expect(shown).toContain("+drei");
  expect(shown).not.toContain("```");
  expect((await otto.get(`${files}?style=split`)).text).toContain("Why <strong>two</strong>?");

  const mira = await signIn("mira");
  const [id] = /(?<=lines\/)\d+(?=\/replies)/.exec((await mira.get(files)).text) ?? [];
  const back = `${files}#issuecomment-${id}`;
  const lines = `/mira/${repo}/pulls/1/lines/${id}`;
  const reply = await mira.send(`${lines}/replies`, files, { body: "Because", back });
  expect([reply.status, reply.location]).toEqual([303, back]);
  const elsewhere = await mira.send(`${lines}/resolution`, files, { resolved: "yes", back: "//x" });
  expect(elsewhere.location).toBe(`/mira/${repo}/pulls/1`);
  expect((await mira.get(files)).text).toContain("resolved by mira");

  const none = await otto.send(chosen, chosen, { ...fields, path: "none.txt", body: "Kept text" });
  expect([none.status, none.text.includes("Kept text")]).toEqual([422, true]);
  expect((await otto.send(chosen, chosen, { ...fields, position: "x", body })).status).toBe(422);
  const anonymous = await fetch(`${daemon.url}${files}`, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { origin: daemon.url, "sec-fetch-site": "same-origin" },
    redirect: "manual",
  });
  expect(anonymous.headers.get("location")).toContain("/user/login");
});

test("the page of a pull request shows every review of its conversation, also beyond the fiftieth", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  await by("mira", "POST", `${path}/contents/tea.txt`, {
    content: toContent("black tea\n"),
    new_branch: "topic",
  });
  await by("mira", "POST", `${path}/pulls`, { head: "topic", base: "main", title: "Tea" });
  for (let count = 1; count <= 52; count += 1)
    await by("otto", "POST", `${path}/pulls/1/reviews`, {
      event: "COMMENT",
      body: `Look ${count}`,
    });
  const line = { path: "tea.txt", body: "The last line.", new_position: 1 };
  const last = { event: "REQUEST_CHANGES", body: "Not yet", comments: [line] };
  expect((await by("otto", "POST", `${path}/pulls/1/reviews`, last)).status).toBe(200);
  const mira = await signIn("mira");
  const page = (await mira.get(`/mira/${repo}/pulls/1?page=2`)).text;
  for (const text of ["Not yet", "request changes", "The last line."]) expect(page).toContain(text);
  expect((await mira.get(`/mira/${repo}/pulls/1/files`)).text).toContain("The last line.");
});

test("the box of a pull request says why it cannot be merged, and updates its branch", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  const write = (name: string, text: string, more = {}) =>
    by("mira", "POST", `${path}/contents/${name}`, { content: toContent(text), ...more });
  await write("topic.txt", "topic\n", { new_branch: "topic" });
  await write("main.txt", "main\n");
  await by("mira", "POST", `${path}/branch_protections`, {
    rule_name: "main",
    required_approvals: 1,
    enable_status_check: true,
    status_check_contexts: ["ci"],
  });
  await by("otto", "POST", `${path}/pulls`, { head: "topic", base: "main", title: "WIP: it" });
  const home = `/mira/${repo}/pulls/1`;
  const [mira, otto] = [await signIn("mira"), await signIn("otto")];
  const draft = (await otto.get(home)).text;
  for (const text of [
    "It is a draft",
    "0 of 1 approval that main requires",
    "The check ci has not",
  ])
    expect(draft).toContain(text);
  expect(draft).not.toContain("Merge as one commit");
  await by("mira", "PATCH", `${path}/pulls/1`, { title: "It" });
  await expect
    .poll(async () => (await mira.get(home)).text, { interval: 50 })
    .toContain("Merge although the rules");
  expect((await otto.get(home)).text).not.toContain("Merge although the rules");

  expect((await otto.get(home)).text).toContain("main has commits that the branch lacks");
  expect((await otto.send(`${home}/update`, home, { style: "merge" })).status).toBe(303);
  await expect
    .poll(async () => (await otto.get(home)).text, { interval: 50 })
    .not.toContain("main has commits");
  await by("mira", "POST", `${path}/pulls/1/reviews`, { event: "REQUEST_CHANGES", body: "No" });
  expect((await otto.get(home)).text).toContain("mira requests changes");
});

test("a rule that the page knows in part leaves the decision to the merge", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  for (const [name, permission] of [
    ["otto", "write"],
    ["rita", "read"],
  ] as const)
    await by("mira", "PUT", `${path}/collaborators/${name}`, { permission });
  const topic = { content: toContent("topic\n"), new_branch: "topic" };
  const { commit } = (await by("mira", "POST", `${path}/contents/topic.txt`, topic)).json;
  await by("mira", "POST", `${path}/branch_protections`, {
    rule_name: "main",
    enable_status_check: true,
    status_check_contexts: ["ci/*", "docs", "lint"],
    enable_merge_whitelist: true,
    merge_whitelist_usernames: ["otto", "rita"],
  });
  await by("mira", "POST", `${path}/pulls`, { head: "topic", base: "main", title: "It" });
  const home = `/mira/${repo}/pulls/1`;
  const [mira, otto, rita] = [await signIn("mira"), await signIn("otto"), await signIn("rita")];
  const report = (context: string, state: string) =>
    by("mira", "POST", `${path}/statuses/${commit.sha}`, { context, state });
  await report("ci/unit", "failure");
  await report("docs", "skipped");
  await expect
    .poll(async () => (await otto.get(home)).text, { interval: 50 })
    .not.toContain("has not compared");
  const lacking = (await otto.get(home)).text;
  expect(lacking).toContain("The check lint has not succeeded");
  expect(lacking).not.toContain("The check docs");
  expect(lacking).not.toContain("Merge as one commit</button>");
  expect(lacking).toContain("Merge when checks succeed");
  await report("lint", "warning");

  // The rule does not make a request for changes an obstacle.
  await by("otto", "POST", `${path}/pulls/1/reviews`, { event: "REQUEST_CHANGES", body: "No" });
  for (const reader of [otto, rita]) {
    const shown = (await reader.get(home)).text;
    for (const text of [
      "The rule of main may refuse to merge it",
      "otto requests changes",
      "The checks ci/* have to succeed",
      "Merge as one commit",
    ])
      expect(shown).toContain(text);
    expect(shown).not.toContain("Merge although");
  }
  // An administrator who is not on the list may not merge, not even by force.
  const ofMira = (await mira.get(home)).text;
  expect(ofMira).toContain("You may not merge into main");
  expect(ofMira).not.toContain("Merge as one commit");
  const refused = await rita.send(`${home}/merge`, home, { style: "merge" });
  expect([refused.status, refused.text.includes("Not all required status checks")]).toEqual([
    422,
    true,
  ]);
  await report("ci/unit", "success");
  expect((await rita.send(`${home}/merge`, home, { style: "merge" })).status).toBe(303);
  expect((await by("mira", "GET", `${path}/pulls/1`)).json.merged).toBe(true);
});

test("two branches are chosen for a new pull request", async () => {
  const repo = await people.newRepository("mira", { auto_init: true });
  const page = (await daemon.request(`/mira/${repo}/compare`)).text;
  expect(page).toContain('<option value="main"');
  const query = new URLSearchParams({ base: "main", head: "otto:a/b" });
  const chosen = await fetch(`${daemon.url}/mira/${repo}/compare?${query}`, { redirect: "manual" });
  expect(chosen.headers.get("location")).toBe(`/mira/${repo}/compare/main...otto%3Aa/b`);
  expect((await daemon.request(`/mira/${repo}/pulls`)).text).toContain("croft pr create");
});
