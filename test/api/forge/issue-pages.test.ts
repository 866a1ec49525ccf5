import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

// Working with issues in a browser: forms, rights, refusals.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

interface Page {
  readonly status: number;
  readonly text: string;
  readonly location: string | null;
}
type Fields = readonly (readonly [name: string, value: string | File])[];

/** A signed-in browser. */
interface Visitor {
  open(path: string): Promise<Page>;
  /** Sends a form of the page `from`. */
  send(path: string, fields: Fields, options?: { readonly from?: string }): Promise<Page>;
}

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "nora", "otto"]) await people.newUser(name);
  await people.api("POST", "/admin/users/mira/repos", { name: "hut", auto_init: true });
  await by("mira", "PUT", "/repos/mira/hut/collaborators/otto", { permission: "write" });
  for (const [name, color] of [
    ["bug", "d73a4a"],
    ["p/high", "b60205"],
    ["p/low", "0e8a16"],
  ])
    await by("mira", "POST", "/repos/mira/hut/labels", { name, color, exclusive: true });
  await by("mira", "POST", "/repos/mira/hut/milestones", { title: "1.0" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function toPage(response: Response): Promise<Page> {
  const { status, headers } = response;
  return { status, text: await response.text(), location: headers.get("location") };
}

const openAs = async (path: string, cookie: string): Promise<Page> =>
  toPage(
    await fetch(`${daemon.url}${path}`, {
      redirect: "manual",
      headers: { Accept: "text/html", Cookie: cookie },
    }),
  );

async function signIn(name: string): Promise<Visitor> {
  const response = await fetch(`${daemon.url}/user/login`, {
    method: "POST",
    redirect: "manual",
    headers: { Origin: daemon.url },
    body: new URLSearchParams({ user_name: name, password: "user-password" }),
  });
  const cookie = (response.headers.get("set-cookie") ?? "").split(";", 1).join();
  const open = (path: string) => openAs(path, cookie);
  return {
    open,
    async send(path, fields, { from = "/notifications" } = {}) {
      const token = /name="form_token" value="([^"]+)"/.exec((await open(from)).text)?.[1] ?? "";
      const all: Fields = [["form_token", token], ...fields];
      const isMultipart = fields.some(([, value]) => value instanceof File);
      const body = isMultipart ? new FormData() : new URLSearchParams();
      for (const [name, value] of all) body.append(name, value as string);
      const headers = { Accept: "text/html", Cookie: cookie };
      const init = { method: "POST", redirect: "manual", headers, body } as const;
      return toPage(await fetch(`${daemon.url}${path}`, init));
    },
  };
}

async function newIssue(author: string, fields: object = {}): Promise<string> {
  const issue = { title: "The gate squeaks", body: "Please look", ...fields };
  const { json } = await by(author, "POST", "/repos/mira/hut/issues", issue);
  return `/mira/hut/issues/${json.number}`;
}
const issueOf = async (path: string) =>
  (await by("mira", "GET", `/repos${path}`)).json as Record<string, never> & {
    readonly labels: readonly { readonly id: number; readonly name: string }[];
  };

const FORM = `name: Bug
about: Something does not work
title: "[Bug] "
labels: [bug]
body:
  - type: markdown
    attributes: { value: "Thank you *very* much." }
  - type: input
    id: version
    attributes: { label: Version }
    validations: { required: true, regex: "[0-9.]+" }
  - type: input
    id: count
    attributes: { label: Count }
    validations: { is_number: true }
  - type: input
    id: slow
    attributes: { label: Slow }
    validations: { regex: "(a+)+b" }
  - type: dropdown
    id: system
    attributes: { label: System, options: [Linux, macOS] }
  - type: checkboxes
    id: terms
    attributes: { label: Checks, options: [{ label: I searched, required: true }, { label: I help }] }
  - type: textarea
    id: steps
    attributes: { label: Steps, render: shell }
`;

test("an issue is opened from a form, whose fields are validated and become its text", async () => {
  const content = (text: string) => ({ content: Buffer.from(text).toString("base64") });
  const folder = "/repos/mira/hut/contents/.gitea/ISSUE_TEMPLATE";
  await by("mira", "POST", `${folder}/bug.yml`, content(FORM));
  const idea = "---\nname: Idea\nabout: New\nlabels: none\n---\n## What\n";
  await by("mira", "POST", `${folder}/idea.md`, content(idea));
  const links =
    "blank_issues_enabled: false\ncontact_links:\n  - { name: Forum, url: 'https://forum.example', about: Ask }\n  - { name: Bad, url: 'javascript:alert(1)', about: Bad }\n";
  await by("mira", "POST", `${folder}/config.yml`, content(links));
  const otto = await signIn("otto");

  const chosen = await otto.open("/mira/hut/issues/new?title=Given");
  expect(chosen.location).toBe("/mira/hut/issues/new/choose?title=Given");
  const choice = (await otto.open(chosen.location ?? "")).text;
  for (const text of ["Bug", "Idea", 'href="https://forum.example"', "template=.gitea"])
    expect(choice).toContain(text);
  expect(choice).not.toContain("Something else");
  expect(choice).not.toContain('href="javascript:');
  expect((await otto.open("/mira/hut/issues/new?template=")).location).toContain("/choose");
  const markdown = (await otto.open("/mira/hut/issues/new?template=idea.md")).text;
  expect(markdown).toContain("## What\n</textarea>");

  const form = "/mira/hut/issues/new?template=bug.yml";
  const page = (await otto.open(form)).text;
  for (const text of ["Thank you <em>very</em> much.", 'value="[Bug] "', 'pattern="[0-9.]+"'])
    expect(page).toContain(text);
  const fields: Fields = [
    ["title", "[Bug] Hinge"],
    ["label", "bug"],
    ["field-version", "1.2"],
    ["field-count", "3"],
    ["field-system", "1"],
    ["field-terms", "0"],
    ["field-steps", "oil\n```"],
  ];
  const without = (name: string, ...more: Fields) => [
    ...fields.filter(([each]) => each !== name),
    ...more,
  ];
  for (const [sent, reason] of [
    [without("field-version"), "“Version” is missing."],
    [without("field-version", ["field-version", "one"]), "“Version”: the value must have the form"],
    [without("field-count", ["field-count", "three"]), "“Count”: a number is needed."],
    [without("field-system", ["field-system", "7"]), "“System”: this is not one of the options."],
    [without("field-terms", ["field-terms", "1"]), "“I searched” must be ticked."],
    [without("title", ["title", " "]), "The title is missing."],
  ] as const) {
    const refused = await otto.send(form, sent);
    expect([refused.status, refused.text.includes(reason), reason]).toEqual([422, true, reason]);
    expect(refused.text).toContain("oil\n```</textarea>");
  }
  const preview = await otto.send("/mira/hut/issues/new/preview?template=bug.yml", fields);
  expect(preview.text).toContain("<h3");
  const file = new File(["bytes"], "hinge.txt");
  const opened = await otto.send(form, [
    ...fields,
    ["field-slow", "a".repeat(40)],
    ["files", file],
  ]);
  expect(opened.status).toBe(303);
  const issue = await issueOf(opened.location ?? "");
  expect(issue).toMatchObject({
    title: "[Bug] Hinge",
    labels: [{ name: "bug" }],
    assets: [{ name: "hinge.txt" }],
    body: `### Version\n\n1.2\n\n### Count\n\n3\n\n### Slow\n\n${"a".repeat(40)}\n\n### System\n\nmacOS\n\n### Checks\n\n- [x] I searched\n- [ ] I help\n\n### Steps\n\n\`\`\`\`shell\noil\n\`\`\`\n\`\`\`\``,
  });
  const anonymous = await openAs(form, "");
  expect(anonymous.location).toContain("/user/login");
});

test("a person with write access labels, assigns, plans, pins, locks and links an issue", async () => {
  const path = await newIssue("nora");
  const other = await newIssue("mira");
  const otto = await signIn("otto");
  const mira = await signIn("mira");
  const labels = (await by("mira", "GET", "/repos/mira/hut/labels")).json as {
    readonly id: number;
    readonly name: string;
  }[];
  const idOf = (name: string) => String(labels.find((label) => label.name === name)?.id);
  const send = async (action: string, fields: Fields, visitor = otto) => {
    const sent = await visitor.send(`${path}/${action}`, fields);
    expect([action, sent.status, sent.location]).toEqual([action, 303, path]);
  };
  await send("labels", [
    ["had", ""],
    ["label", idOf("bug")],
    ["label", idOf("p/low")],
  ]);
  await by("mira", "POST", `/repos${path}/labels`, { labels: ["p/high"] });
  await send("labels", [["had", idOf("bug")]]);
  expect((await issueOf(path)).labels.map(({ name }) => name)).toEqual(["p/high"]);
  await send("assignees", [
    ["had", ""],
    ["assignee", "otto"],
    ["other", "@nora"],
  ]);
  await send("milestone", [["milestone", "1"]]);
  await send("deadline", [["date", "2027-01-31"]]);
  await send("dependencies", [["blocker", other.replace(/.*\//, "#")]]);
  await send("subscription", [["subscribed", "yes"]]);
  await send("stopwatch", [["do", "start"]]);
  await send("times", [["minutes", "65"]]);
  await send("reactions", [["add", "heart"]]);
  await send("pin", [["pinned", "yes"]], mira);
  await send(
    "lock",
    [
      ["locked", "yes"],
      ["reason", "Off-topic"],
    ],
    mira,
  );
  expect(await issueOf(path)).toMatchObject({
    assignees: [{ login: "nora" }, { login: "otto" }],
    milestone: { title: "1.0" },
    due_date: "2027-01-31T23:59:59Z",
    is_locked: true,
    pin_order: 1,
  });
  const page = (await otto.open(path)).text;
  for (const text of ["1 h 5 min", "Stop the stopwatch", "Unsubscribe", "locked this: Off-topic"])
    expect(page).toContain(text);
  expect((await otto.open("/mira/hut/issues")).text).toContain("Pinned issues");
  const closed = await otto.send(`${path}/comments/close`, [["body", "Done"]]);
  expect([closed.status, closed.text.includes("Your comment was added, but then: ")]).toEqual([
    422,
    true,
  ]);
  await send("dependencies", [
    ["blocker", `mira/hut${other.replace(/.*\//, "#")}`],
    ["remove", "yes"],
  ]);
  await send("milestone", [["milestone", "0"]]);
  await send("deadline", [["date", ""]]);
  await send("reactions", [["remove", "heart"]]);
  expect(await issueOf(path)).toMatchObject({ milestone: null, due_date: null });
  const wrong = await otto.send(`${path}/dependencies`, [["blocker", "x"]]);
  expect(wrong.text).toContain("Name an issue as #7, or as owner/name#7.");
  const gone = await mira.send(`${other}/delete`, []);
  expect(gone.location).toBe("/mira/hut/issues");
  expect((await mira.open(other)).status).toBe(404);
});

test("an author edits, comments, attaches, ticks and closes, and is refused when a text has changed meanwhile", async () => {
  const path = await newIssue("nora", { body: "- [ ] oil ü\n- [x] hinge\n\n`[ ]` no box" });
  const nora = await signIn("nora");
  const versionIn = (text: string, after: string) =>
    new RegExp(`${after}[^]*?name="version" value="([0-9a-f]+)"`).exec(text)?.[1] ?? "";
  const page = (await nora.open(path)).text;
  const positions = /name="positions" value="([\d,]+)"/.exec(page)?.[1] ?? "";
  const version = versionIn(page, "tasks-text");
  const ticks: Fields = [
    ["version", version],
    ["positions", positions],
    ["task", positions.split(",")[0] ?? ""],
  ];
  expect((await nora.send(`${path}/tasks`, ticks)).status).toBe(303);
  expect(await issueOf(path)).toMatchObject({ body: "- [x] oil ü\n- [ ] hinge\n\n`[ ]` no box" });
  const late = await nora.send(`${path}/tasks`, ticks);
  expect([late.status, late.text.includes("The text has changed since")]).toEqual([422, true]);

  const stale: Fields = [
    ["version", version],
    ["title", "Mine"],
    ["body", "My <b>text</b>"],
  ];
  const refused = await nora.send(`${path}/edit`, stale);
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("My &lt;b&gt;text&lt;/b&gt;</textarea>");
  const preview = await nora.send(`${path}/edit/preview`, stale);
  expect(preview.text).toContain('aria-label="Preview"');
  expect(versionIn(preview.text, "/edit")).toBe(version);
  const again: Fields = [["version", versionIn(refused.text, "/edit")], ...stale.slice(1)];
  expect((await nora.send(`${path}/edit`, again)).status).toBe(303);
  expect(await issueOf(path)).toMatchObject({ title: "Mine", body: "My <b>text</b>" });

  const file = new File(["GIF89a"], "shot.gif");
  const added = await nora.send(`${path}/comments`, [
    ["body", "See *this*\r\n- [ ] later"],
    ["files", file],
    ["files", new File(["x".repeat(10)], "b.txt")],
  ]);
  expect(added.location).toMatch(/\?page=1#issuecomment-\d+$/);
  const id = /\d+$/.exec(added.location ?? "")?.[0] ?? "";
  const comments = async () =>
    (await by("mira", "GET", `/repos${path}/comments`)).json as readonly object[];
  expect(await comments()).toMatchObject([
    { body: "See *this*\n- [ ] later", assets: [{ name: "shot.gif" }, { name: "b.txt" }] },
  ]);
  const shown = (await nora.open(path)).text;
  const own = versionIn(shown, `comments/${id}/edit`);
  const edit = (version: string) =>
    nora.send(`${path}/comments/${id}/edit`, [
      ["version", version],
      ["body", "Edited"],
    ]);
  expect((await edit("0".repeat(64))).text).toContain("The text has changed since");
  expect((await edit(own)).location).toBe(`${path}#issuecomment-${id}`);
  expect(await comments()).toMatchObject([{ body: "Edited" }]);
  const empty = await nora.send(`${path}/comments`, [["body", " "]]);
  expect(empty.status).toBe(422);
  const closed = await nora.send(`${path}/comments/close`, [["body", ""]]);
  expect(closed.status).toBe(303);
  expect(await issueOf(path)).toMatchObject({ state: "closed", comments: 1 });
  await nora.send(`${path}/comments/reopen`, [["body", "Again"]]);
  expect(await issueOf(path)).toMatchObject({ state: "open", comments: 2 });
  expect((await nora.send(`${path}/comments/${id}/delete`, [])).status).toBe(303);
  expect(await comments()).toHaveLength(1);
  expect((await nora.open(`${path}/edit/preview`)).location).toBe(path);
});

test("nobody sees a button that they may not press, and a refusal is said in words", async () => {
  const path = await newIssue("mira", { body: "- [ ] oil" });
  await by("mira", "POST", `/repos${path}/comments`, { body: "- [ ] hinge" });
  const nora = await signIn("nora");
  const reader = (await nora.open(path)).text;
  for (const text of ["Set labels", "Edit</summary>", "Delete", "Lock", ">Close<", 'name="task"'])
    expect([text, reader.includes(text)]).toEqual([text, false]);
  expect(reader).toContain("Comment, in Markdown");
  const anonymous = (await openAs(path, "")).text;
  expect(anonymous).not.toMatch(/<form method="post"/);
  expect(anonymous).toContain("to comment.");
  for (const [action, fields] of [
    ["labels", [["label", "1"]]],
    ["assignees", [["assignee", "nora"]]],
    ["lock", [["locked", "yes"]]],
    ["pin", [["pinned", "yes"]]],
    ["deadline", [["date", "2027-01-01"]]],
    ["delete", []],
  ] as const) {
    const refused = await nora.send(`${path}/${action}`, fields);
    expect([action, refused.status]).toEqual([action, 422]);
    expect(refused.text).toContain('role="alert"');
  }
  await by("mira", "PUT", `/repos${path}/lock`, {});
  expect((await nora.open(path)).text).toContain("This conversation is locked");
  const kept = await nora.send(`${path}/comments`, [["body", "my kept text"]]);
  expect([kept.status, kept.text.includes("only users with write access may comment")]).toEqual([
    422,
    true,
  ]);
  expect(kept.text).toContain("my kept text</textarea>");
  await people.api("POST", "/admin/users/mira/repos", { name: "old", auto_init: true });
  await by("mira", "POST", "/repos/mira/old/issues", { title: "Old" });
  await by("mira", "PATCH", "/repos/mira/old", { archived: true });
  const mira = await signIn("mira");
  const archived = (await mira.open("/mira/old/issues/1")).text;
  expect(archived).toContain("This repository is archived");
  for (const text of ["Set labels", "Pin", ">Close<", "Edit</summary>"])
    expect([text, archived.includes(text)]).toEqual([text, false]);
  expect((await mira.open("/mira/old/issues")).text).not.toContain("New issue");
  const late = await mira.send("/mira/old/issues/new", [["title", "New"]]);
  expect([late.status, late.text.includes("archived")]).toEqual([422, true]);
});

test("lists filter by label, milestone, person, state, text and order; a team member plans without access to code", async () => {
  await people.api("POST", "/admin/users/mira/orgs", { username: "club" });
  await by("mira", "POST", "/orgs/club/repos", { name: "plan", auto_init: true });
  const team = { name: "desk", units_map: { "repo.issues": "write" } };
  const { json } = await by("mira", "POST", "/orgs/club/teams", team);
  await by("mira", "PUT", `/teams/${json.id}/members/nora`);
  await by("mira", "PUT", `/teams/${json.id}/repos/club/plan`);
  await by("mira", "POST", "/orgs/club/labels", { name: "shared", color: "ff0000" });
  const milestone = await by("mira", "POST", "/repos/club/plan/milestones", { title: "Spring" });
  const add = (fields: object) => by("mira", "POST", "/repos/club/plan/issues", fields);
  await add({ title: "First of all", body: "@nora look", milestone: milestone.json.id });
  await add({ title: "Second of all", assignees: ["nora"] });
  await by("nora", "POST", "/repos/club/plan/issues", { title: "Third of all" });
  await by("mira", "POST", "/repos/club/plan/issues/1/labels", { labels: ["shared"] });
  await by("mira", "PATCH", "/repos/club/plan/issues/3", { state: "closed" });
  const nora = await signIn("nora");
  const titles = async (query: string) =>
    [...(await nora.open(query)).text.matchAll(/<bdi>(\w+) of all<\/bdi>/g)].map(
      ([, word]) => word,
    );
  const list = "/club/plan/issues";
  for (const [query, expected] of [
    ["", ["Second", "First"]],
    ["?sort=oldest", ["First", "Second"]],
    ["?state=all&sort=oldest", ["First", "Second", "Third"]],
    ["?state=closed", ["Third"]],
    ["?labels=shared", ["First"]],
    ["?assignee=nora", ["Second"]],
    ["?poster=nora&state=all", ["Third"]],
    ["?mentioned=nora", ["First"]],
    ["?milestone=Spring", ["First"]],
    ["?q=second", ["Second"]],
    ["?poster=nobody-here", []],
  ] as const)
    expect([query, await titles(list + query)]).toEqual([query, expected]);
  const filtered = (await nora.open(`${list}?q=second&labels=shared`)).text;
  expect(filtered).toContain('name="labels" value="shared"');
  expect(filtered).toContain("No issue matches.");
  for (const [query, expected] of [
    ["/issues", ["Second"]],
    ["/issues?type=created_by&state=all", ["Third"]],
    ["/issues?type=mentioned", ["First"]],
    ["/pulls?type=review_requested", []],
  ] as const)
    expect([query, await titles(query)]).toEqual([query, expected]);
  expect((await openAs("/issues", "")).location).toContain("/user/login");
  const page = (await nora.open("/club/plan/issues/1")).text;
  expect(page).toContain("Set labels");
  const labels = (await nora.open("/club/plan/labels")).text;
  expect(labels).toContain("of the organization");
});

test("labels and milestones are made, changed and deleted", async () => {
  await people.api("POST", "/admin/users/mira/repos", { name: "den" });
  const mira = await signIn("mira");
  const sets = (await mira.open("/mira/den/labels")).text;
  expect(sets).toContain("Add this set");
  const added = await mira.send("/mira/den/labels/initialize", [["template_name", "Default"]]);
  expect(added.status).toBe(303);
  const labels = async () =>
    (await by("mira", "GET", "/repos/mira/den/labels?limit=50")).json as readonly {
      readonly id: number;
      readonly name: string;
    }[];
  expect((await labels()).length).toBeGreaterThan(5);
  const fields: Fields = [
    ["isNew", "yes"],
    ["name", "size/<b>"],
    ["color", "#00ff00"],
    ["description", "Of it"],
    ["exclusive", "yes"],
  ];
  await mira.send("/mira/den/labels/new", fields);
  const made = (await labels()).find(({ name }) => name === "size/<b>");
  expect(made).toMatchObject({ color: "00ff00", exclusive: true });
  const bad = await mira.send("/mira/den/labels/new", [
    ["isNew", "yes"],
    ["name", "kept name"],
    ["color", "red"],
  ]);
  expect([bad.status, bad.text.includes('value="kept name"')]).toEqual([422, true]);
  await mira.send(`/mira/den/labels/${made?.id}/edit`, [
    ["name", "size/s"],
    ["color", "#000000"],
    ["archived", "yes"],
  ]);
  expect((await labels()).find(({ id }) => id === made?.id)).toMatchObject({
    name: "size/s",
    is_archived: true,
    exclusive: false,
  });
  await mira.send(`/mira/den/labels/${made?.id}/delete`, []);
  expect((await labels()).some(({ id }) => id === made?.id)).toBe(false);

  const milestone: Fields = [
    ["title", "1.0"],
    ["due_on", "2027-01-31"],
    ["description", "The *first*"],
  ];
  expect((await mira.send("/mira/den/milestones/new", milestone)).location).toBe(
    "/mira/den/milestones",
  );
  const list = async () =>
    (await by("mira", "GET", "/repos/mira/den/milestones?state=all")).json as readonly {
      readonly id: number;
    }[];
  const id = (await list())[0]?.id ?? 0;
  const path = `/mira/den/milestones/${id}`;
  await by("mira", "POST", "/repos/mira/den/issues", { title: "In it", milestone: id });
  const page = (await mira.open(`/mira/den/milestone/${id}`)).text;
  for (const text of ["<em>first</em>", "0 % done · 1 open", "due 2027-01-31", "In it"])
    expect(page).toContain(text);
  const edited = (await mira.open(`${path}/edit`)).text;
  expect(edited).toContain('value="2027-01-31"');
  await mira.send(`${path}/edit`, [
    ["title", "1.1"],
    ["due_on", ""],
    ["description", ""],
  ]);
  await mira.send(`${path}/state`, [["state", "closed"]]);
  expect(await list()).toMatchObject([
    { title: "1.1", due_on: null, state: "closed", description: "" },
  ]);
  const refused = await mira.send(`${path}/edit`, [
    ["title", " "],
    ["description", "kept words"],
  ]);
  expect(refused.text).toContain("kept words</textarea>");
  await mira.send(`${path}/delete`, []);
  expect(await list()).toEqual([]);
  const nora = await signIn("nora");
  expect((await nora.open("/mira/den/labels")).text).not.toContain("New label");
  expect((await nora.send("/mira/den/labels/new", fields)).status).toBe(422);
  expect((await nora.open("/mira/den/milestones/new")).text).toContain("Only people with write");
});

test("a notification is read with its new texts, answered, done and pinned", async () => {
  const path = await newIssue("mira", { title: "Thread", body: "@nora *look*" });
  const nora = await signIn("nora");
  // A job notifies.
  const { id, unread } = await vi.waitUntil(
    async () => {
      const inbox = (await nora.open("/notifications")).text;
      const [, found] = /href="\/notifications\/(\d+)"><bdi>Thread/.exec(inbox) ?? [];
      const [, count] = /Unread \((\d+)\)/.exec(inbox) ?? [];
      return found !== undefined && { id: found, unread: count };
    },
    { timeout: 60_000 },
  );
  const thread = `/notifications/${id}`;
  expect((await nora.open(thread)).text).toContain("<em>look</em>");
  const preview = await nora.send(`${thread}/reply/preview`, [["body", "**bold**"]]);
  expect(preview.text).toContain("<strong>bold</strong>");
  expect((await nora.send(`${thread}/reply`, [["body", "Seen"]])).location).toBe(thread);
  expect((await by("mira", "GET", `/repos${path}/comments`)).json).toMatchObject([
    { body: "Seen", user: { login: "nora" } },
  ]);
  expect((await nora.open("/notifications?status=read")).text).toContain("Thread");
  const mark = (status: string) =>
    nora.send("/notifications", [
      ["id", id],
      ["status", status],
    ]);
  await mark("pinned");
  expect((await nora.open("/notifications?status=pinned")).text).toContain("Thread");
  await mark("unread");
  expect((await nora.open("/notifications")).text).toContain(`Unread (${unread})`);
  const mira = await signIn("mira");
  expect((await mira.open(thread)).status).toBe(403);
  await by("mira", "PUT", `/repos${path}/lock`, {});
  const refused = await nora.send(`${thread}/reply`, [["body", "kept reply"]]);
  expect([refused.status, refused.text.includes("kept reply</textarea>")]).toEqual([422, true]);
});

test("the same boxes serve a pull request, and its reviewers find it in their list", async () => {
  const content = Buffer.from("x").toString("base64");
  await by("mira", "POST", "/repos/mira/hut/contents/a.txt", { content, new_branch: "topic" });
  const made = { head: "topic", base: "main", title: "Add a", body: "Fixes" };
  const { json } = await by("mira", "POST", "/repos/mira/hut/pulls", made);
  await by("mira", "POST", `/repos/mira/hut/pulls/${json.number}/requested_reviewers`, {
    reviewers: ["otto"],
  });
  const otto = await signIn("otto");
  expect((await otto.open("/pulls?type=review_requested")).text).toContain("Add a");
  const path = `/mira/hut/pulls/${json.number}`;
  const issue = `/mira/hut/issues/${json.number}`;
  expect((await otto.open(path)).text).toContain("Set milestone");
  const sent = await otto.send(`${issue}/milestone`, [["milestone", "1"]]);
  expect(sent.location).toBe(path);
  const commented = await otto.send(`${issue}/comments/close`, [["body", "No"]]);
  expect(commented.location).toContain(`${path}?page=1#issuecomment-`);
  expect(await issueOf(issue)).toMatchObject({ state: "closed", milestone: { title: "1.0" } });
  const refused = await otto.send(`${issue}/dependencies`, [["blocker", "#9999"]]);
  expect([refused.status, refused.text.includes("Conversation")]).toEqual([422, true]);
  await otto.send(`${path}/reviews`, [
    ["event", "COMMENT"],
    ["body", "Fine"],
  ]);
  expect((await otto.open("/pulls?type=reviewed_by&state=closed")).text).toContain("Add a");
});
