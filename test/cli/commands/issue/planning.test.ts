import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

let daemon: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
let env: Record<string, string>;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  await people.api("POST", "/admin/users/mira/orgs", { username: "lodge" });
  for (const owner of ["mira", "lodge"])
    await people.api("POST", `/admin/users/${owner}/repos`, { name: "notes" });
  env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const croft = (...line: readonly string[]) => runCli([...line, "--json"], { home: home.path, env });

test("labels are of a repository or of an organization", async () => {
  const parse = (...line: string[]) => optionsOf("label create", line);
  expect(await parse("mira/notes", "bug")).toEqual({
    place: { owner: "mira", repo: "notes" },
    name: "bug",
  });
  expect(await parse("lodge", "bug", "--color", "d73a4a")).toMatchObject({
    place: { org: "lodge" },
    color: "d73a4a",
  });
});

test("labels are created, listed, edited and deleted by name", async () => {
  for (const place of ["mira/notes", "lodge"]) {
    const made = await croft("label", "create", place, "kind/bug", "--exclusive");
    expect(made.json()).toMatchObject({ name: "kind/bug", exclusive: true, color: "ededed" });
    const edited = await croft("label", "edit", place, "kind/bug", "--name", "bug", "--archived");
    expect(edited.json()).toMatchObject({ name: "bug", is_archived: true, exclusive: true });
    expect((await croft("label", "edit", place, "other", "--name", "x")).code).toBe(6);
    expect((await croft("label", "edit", place, "bug")).code).toBe(2);
    expect((await croft("label", "list", place)).json()).toMatchObject([{ name: "bug" }]);
    const gone = await croft("label", "delete", place, "bug", "--yes");
    expect(gone.json()).toEqual({ deleted: true, name: "bug" });
    expect((await croft("label", "list", place)).json()).toEqual([]);
  }
});

test("milestones are created, listed, viewed, closed and deleted by title", async () => {
  const on = (verb: string, ...more: string[]) => croft("milestone", verb, "mira/notes", ...more);
  const made = await on("create", "1.0", "--due", "2027-01-02");
  expect(made.json()).toMatchObject({ title: "1.0", due_on: "2027-01-02T23:59:59Z" });
  expect((await on("create", "2.0", "--due", "soon")).code).toBe(2);
  expect((await on("view", "1.0")).json()).toMatchObject({ state: "open" });
  expect((await on("edit", "1.0", "--close")).json()).toMatchObject({ state: "closed" });
  expect((await on("list")).json()).toEqual([]);
  expect((await on("list", "--state", "all")).json()).toHaveLength(1);
  expect((await on("delete", "1.0", "--yes")).json()).toEqual({ deleted: true, milestone: "1.0" });
});

test("an issue gets labels of its repository and its organization, a milestone and a due date", async () => {
  await croft("label", "create", "lodge", "shared");
  await croft("label", "create", "lodge/notes", "bug");
  await croft("milestone", "create", "lodge/notes", "1.0");
  const labels = ["--label", "shared", "--label", "bug"];
  const more = ["--milestone", "1.0", "--due", "2027-01-02"];
  const made = await croft("issue", "create", "lodge/notes", "--title", "x", ...labels, ...more);
  expect(made.json()).toMatchObject({
    labels: [{ name: "bug" }, { name: "shared" }],
    milestone: { title: "1.0" },
    due_date: "2027-01-02T23:59:59Z",
  });
  const wrong = await croft("issue", "create", "lodge/notes", "--title", "x", "--label", "none");
  expect(wrong.code).toBe(6);
  const issue = "lodge/notes#1";
  const edits = ["--remove-label", "bug", "--no-milestone", "--no-due"];
  expect((await croft("issue", "edit", issue, ...edits)).json()).toMatchObject({
    labels: [{ name: "shared" }],
    milestone: null,
    due_date: null,
  });
  expect((await croft("issue", "edit", issue, "--add-label", "bug")).json()).toMatchObject({
    labels: [{ name: "bug" }, { name: "shared" }],
  });
  const only = await croft("issue", "edit", issue, "--label", "bug");
  expect(only.json()).toMatchObject({ labels: [{ name: "bug" }] });
  const both = await croft("issue", "edit", issue, "--label", "bug", "--add-label", "shared");
  expect(both.code).toBe(2);
});

test("an issue is found, locked, pinned, reacted to, closed, reopened and deleted", async () => {
  await croft("issue", "create", "mira/notes", "--title", "The gate squeaks");
  const issue = "mira/notes#1";
  const found = await croft("issue", "search", "squeaks", "--created", "--owner", "mira");
  expect(found.json()).toMatchObject([{ repository: { full_name: "mira/notes" }, number: 1 }]);
  const lock = await croft("issue", "lock", issue, "--reason", "resolved");
  expect(lock.json()).toEqual({ locked: true, issue });
  expect((await croft("issue", "unlock", issue)).json()).toEqual({ locked: false, issue });
  expect((await croft("issue", "pin", issue)).json()).toEqual({ pinned: true, issue });
  expect((await croft("issue", "unpin", issue)).json()).toEqual({ pinned: false, issue });
  const added = await croft("issue", "react", issue, "heart");
  expect(added.json()).toEqual({ reaction: "heart", given: true });
  const back = await croft("issue", "react", issue, "heart", "--remove");
  expect(back.json()).toEqual({ reaction: "heart", given: false });
  expect((await croft("issue", "react", issue, "thumb")).code).toBe(5);
  const closed = await croft("issue", "close", issue, "--comment", "Oiled");
  expect(closed.json()).toMatchObject({ state: "closed", comments: 1 });
  expect((await croft("issue", "reopen", issue)).json()).toMatchObject({ state: "open" });
  const entries = (await croft("issue", "timeline", issue)).json();
  const types = (entries as { readonly type: string }[]).map(({ type }) => type);
  expect(types).toEqual(["lock", "unlock", "pin", "unpin", "comment", "close", "reopen"]);
  const comment = (entries as { readonly id: number }[])[4]?.id;
  const reacted = await croft("issue", "react", issue, "eyes", "--comment", String(comment));
  expect(reacted.json()).toEqual({ reaction: "eyes", given: true });
  expect((await croft("issue", "delete", issue, "--yes")).json()).toEqual({ deleted: true, issue });
});
