import { afterAll, beforeAll, expect, test } from "vitest";
import { entries } from "../../../../cli/commands/issue/time.ts";
import { startTestDaemon, type TestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

let daemon: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
let env: Record<string, string>;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  await people.newUser("quill");
  for (const name of ["notes", "tools"])
    await people.by("mira", "POST", "/user/repos", { name, auto_init: true });
  await people.by("mira", "POST", "/repos/mira/notes/labels", { name: "bug", color: "ff0000" });
  for (const repo of ["notes", "notes", "tools"])
    await people.by("mira", "POST", `/repos/mira/${repo}/issues`, { title: `In ${repo}` });
  const form =
    "name: Bug\nabout: Wrong\ntitle: '[bug]'\nlabels: bug\nbody: [{ type: input, attributes: { label: What } }]\n";
  await people.by("mira", "POST", "/repos/mira/notes/contents/.gitea/ISSUE_TEMPLATE/bug.yaml", {
    content: Buffer.from(form).toString("base64"),
  });
  env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const croft = (...line: readonly string[]) => runCli([...line, "--json"], { home: home.path, env });

test("dependencies are added by number or by name, listed from both sides and removed", async () => {
  const on = (verb: string, ...more: string[]) =>
    croft("issue", "dependency", verb, "mira/notes#1", ...more);
  expect((await on("add", "2")).json()).toMatchObject({ number: 1 });
  expect((await on("add", "mira/tools#1")).json()).toMatchObject({ number: 1 });
  expect((await on("add", "2")).code).toBe(7);
  expect((await on("add", "x")).code).toBe(2);
  expect((await on("list")).json()).toMatchObject([
    { repository: { full_name: "mira/notes" }, number: 2 },
    { repository: { full_name: "mira/tools" }, number: 1 },
  ]);
  const blocked = await croft("issue", "dependency", "list", "mira/notes#2", "--blocked");
  expect(blocked.json()).toMatchObject([{ number: 1 }]);
  expect((await croft("issue", "close", "mira/notes#1")).code).toBe(7);
  await on("remove", "2");
  await on("remove", "mira/tools#1");
  expect((await on("list")).json()).toEqual([]);
});

test("time is added, listed and deleted, and a stopwatch runs", async () => {
  expect(entries.map(({ name }) => name)).toContain("status");
  const on = (verb: string, ...more: string[]) => croft("issue", "time", verb, ...more);
  const added = await on("add", "mira/notes#1", "1h30m", "--on", "2026-11-20");
  expect(added.json()).toMatchObject({ time: 5400, created: "2026-11-20T00:00:00Z" });
  expect((await on("add", "mira/notes#1", "soon")).code).toBe(2);
  for (const of of [[], ["mira/notes"], ["mira/notes#1"], ["mira/notes#1", "--user", "mira"]])
    expect((await on("list", ...of)).json()).toMatchObject([{ time: 5400 }]);
  expect((await on("list", "--user", "mira")).code).toBe(2);
  expect((await on("delete", "mira/notes#1")).code).toBe(2);
  const { id } = added.json() as { readonly id: number };
  await on("delete", "mira/notes#1", String(id), "--yes");
  expect((await on("list")).json()).toEqual([]);
  expect((await on("start", "mira/notes#1")).json()).toEqual({
    running: true,
    issue: "mira/notes#1",
  });
  expect((await on("status")).json()).toMatchObject([{ issue_index: 1 }]);
  expect((await on("stop", "mira/notes#1", "--discard")).json()).toMatchObject({ running: false });
  expect((await on("status")).json()).toEqual([]);
});

test("an issue is created from a template, whose values options override", async () => {
  const templates = await croft("issue", "templates", "mira/notes");
  expect(templates.json()).toMatchObject([{ name: "Bug" }]);
  const make = (...more: string[]) => croft("issue", "create", "mira/notes", ...more);
  expect((await make("--from-template", "Bug")).json()).toMatchObject({
    title: "[bug]",
    body: "### What\n\n_No response_\n",
    labels: [{ name: "bug" }],
  });
  const own = await make("--from-template", "bug.yaml", "--title", "Mine", "--body", "x");
  expect(own.json()).toMatchObject({ title: "Mine", body: "x" });
  expect((await make("--from-template", "None")).code).toBe(6);
  expect((await make()).code).toBe(2);
});

test("users and the packages of an owner are found", async () => {
  expect((await croft("user", "search", "qui")).json()).toMatchObject([{ login: "quill" }]);
  expect((await croft("admin", "package", "list", "--owner", "mira")).json()).toEqual([]);
  expect((await croft("admin", "package", "versions", "mira", "npm", "x")).code).toBe(6);
});
