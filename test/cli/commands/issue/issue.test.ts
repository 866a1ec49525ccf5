import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const issue = {
  id: 70,
  number: 3,
  state: "open",
  title: "Broken",
  body: "Look",
  user: { login: "mira" },
  assignees: null,
  labels: [],
  comments: 1,
  due_date: null,
  html_url: "http://h/mira/notes/issues/3",
  updated_at: "2026-11-20T12:00:00Z",
};
const comment = { id: 5, user: null, body: "Still", created_at: "2026-11-20T12:00:00Z" };
const home = "/api/v1/repos/mira/notes/issues";

async function runSignedIn(
  words: readonly string[],
  answers: Parameters<typeof fakeDaemon>[0],
  stdin?: string,
) {
  await using folder = await temporaryHome();
  await using daemon = await fakeDaemon(answers);
  await signIn(folder.path, { url: daemon.url, forgeToken: "t" });
  const input = stdin === undefined ? {} : { stdin };
  return { ran: await runCli(words, { home: folder.path, ...input }), requests: daemon.requests };
}

test("an issue is named by repository and number", async () => {
  expect(await optionsOf("issue view", ["mira/notes#3", "--comments"])).toEqual({
    issue: { owner: "mira", repo: "notes", index: "3" },
    comments: true,
  });
  for (const wrong of ["mira/notes", "mira/notes#0", "notes#1", "a/b#1#2", "a/b#x"])
    expect(await refusalOf("issue view", [wrong])).toMatch(/OWNER\/NAME/);
});

test("issues are listed by state, text and people", async () => {
  const { ran, requests } = await runSignedIn(
    ["issue", "list", "mira/notes", "--state", "all", "--search", "gate", "--author", "mira"],
    { [`GET ${home}`]: { body: [issue] } },
  );
  expect(ran.out).toBe("3\topen\tBroken\tmira\t1\t2026-11-20T12:00:00Z\n");
  expect(requests[0]?.path).toContain("state=all&q=gate&created_by=mira");
});

test("issues are listed by labels, mentions and times", async () => {
  const flags = ["--label", "bug", "--label=low prio", "--mentions", "nora", "--assignee", "mira"];
  const { requests } = await runSignedIn(
    ["issue", "list", "mira/notes", ...flags, "--since", "a", "--before", "b", "--json"],
    { [`GET ${home}`]: { body: [issue] } },
  );
  const query = new URL(requests[0]?.path ?? "", "http://h").searchParams;
  expect(Object.fromEntries(query)).toMatchObject({
    labels: "bug,low prio",
    mentioned_by: "nora",
    assigned_by: "mira",
    since: "a",
    before: "b",
  });
});

test("the status of issues lists those assigned to the caller, mentioning or opened by them", async () => {
  const { ran, requests } = await runSignedIn(["issue", "status", "mira/notes", "--json"], {
    "GET /api/v1/user": { body: { login: "mira" } },
    [`GET ${home}`]: [{ body: [issue] }, { body: [] }, { body: [{ ...issue, number: 4 }] }],
  });
  expect(ran.json()).toMatchObject([
    { relation: "assigned", number: 3 },
    { relation: "opened", number: 4 },
  ]);
  const queries = requests.slice(1).map(({ path }) => path.split("?")[1]);
  for (const [at, filter] of ["assigned_by", "mentioned_by", "created_by"].entries())
    expect(queries[at]).toContain(`state=open&${filter}=mira`);
});

test("an issue is not created when --template names an issue template as in gh", async () => {
  const line = ["issue", "create", "mira/notes", "--title", "A", "--template", "bug"];
  const { ran, requests } = await runSignedIn(line, {});
  expect(ran.code).toBe(2);
  expect(ran.err).toContain("-T 'bug' takes the issue template");
  expect(requests).toEqual([]);
});

test("labels are copied, those that exist stay unless they are forced", async () => {
  const label = (id: number, name: string, color: string) => ({
    ...{ id, name, color, description: "", exclusive: false, is_archived: false, url: "" },
  });
  const answers = {
    "GET /api/v1/repos/mira/notes/labels": { body: [label(1, "bug", "000000")] },
    "GET /api/v1/orgs/acme/labels": {
      body: [label(7, "bug", "d73a4a"), label(8, "docs", "0075ca")],
    },
    "POST /api/v1/repos/mira/notes/labels": { status: 201, body: label(2, "docs", "0075ca") },
    "PATCH /api/v1/repos/mira/notes/labels/1": { body: label(1, "bug", "d73a4a") },
  };
  const line = ["label", "clone", "mira/notes", "acme", "--json"];
  const unforced = await runSignedIn(line, answers);
  expect(unforced.ran.json()).toEqual([
    { name: "bug", outcome: "kept" },
    { name: "docs", outcome: "created" },
  ]);
  const forced = await runSignedIn([...line, "--force"], answers);
  expect(forced.ran.json()).toMatchObject([{ outcome: "changed" }, { outcome: "created" }]);
  expect(forced.requests.find(({ method }) => method === "PATCH")?.json()).toMatchObject({
    color: "d73a4a",
  });
  const dry = await runSignedIn([...line, "--dry-run"], answers);
  expect(dry.ran.json()).toMatchObject({ labels: [{ outcome: "kept" }, { outcome: "created" }] });
  expect(dry.requests.every(({ method }) => method === "GET")).toBe(true);
});

test("an issue is shown with its comments on request", async () => {
  const answers = {
    [`GET ${home}/3`]: { body: issue },
    [`GET ${home}/3/comments`]: { body: [comment] },
  };
  const bare = await runSignedIn(["issue", "view", "mira/notes#3", "--json"], answers);
  expect([bare.ran.json(), bare.requests.length]).toEqual([issue, 1]);
  const whole = await runSignedIn(["issue", "view", "mira/notes#3", "--comments"], answers);
  expect(whole.ran.out).toContain("a deleted account: Still");
});

test("an issue is opened, its text read from standard input", async () => {
  const line = ["mira/notes", "--title", "Broken", "--body", "-", "--assign", "nora"];
  expect(await optionsOf("issue create", line)).toMatchObject({
    title: "Broken",
    assign: ["nora"],
  });
  const answers = { [`POST ${home}`]: { status: 201, body: issue } };
  const { ran, requests } = await runSignedIn(
    ["issue", "create", ...line, "--json"],
    answers,
    "Look",
  );
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(requests[0]?.json()).toEqual({ title: "Broken", body: "Look", assignees: ["nora"] });
});

test("an issue is closed or reopened; both at once and an edit without flags are refused", async () => {
  expect(await optionsOf("issue edit", ["mira/notes#3", "--close"])).toMatchObject({
    close: true,
  });
  const answers = { [`PATCH ${home}/3`]: { status: 201, body: issue } };
  const edit = (...flags: readonly string[]) =>
    runSignedIn(["issue", "edit", "mira/notes#3", ...flags, "--json"], answers);
  const closed = await edit("--close", "--title", "Mended");
  expect(closed.requests[0]?.json()).toEqual({ title: "Mended", state: "closed" });
  expect((await edit("--reopen")).requests[0]?.json()).toEqual({ state: "open" });
  expect((await edit("--close", "--reopen")).ran.code).toBe(2);
  expect((await edit()).ran.error()).toMatchObject({ code: "missing_input" });
});

test("a comment is added", async () => {
  const { ran, requests } = await runSignedIn(
    ["issue", "comment", "mira/notes#3", "--body", "Still", "--json"],
    { [`POST ${home}/3/comments`]: { status: 201, body: comment } },
  );
  expect(ran.json()).toEqual(comment);
  expect(requests[0]?.json()).toEqual({ body: "Still" });
});
