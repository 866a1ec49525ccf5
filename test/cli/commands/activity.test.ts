import { afterAll, beforeAll, expect, test } from "vitest";
import { entries } from "../../../cli/commands/activity.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  home = await temporaryHome();
  for (const name of ["mira", "nora"]) await people.newUser(name);
  await people.by("mira", "POST", "/orgs", { username: "crew" });
  await people.by("mira", "POST", "/orgs/crew/repos", { name: "ship", auto_init: true });
  await people.by("nora", "PUT", "/repos/crew/ship/subscription");
  await people.by("mira", "POST", "/repos/crew/ship/issues", { title: "A\u001b[31mleak\u202e" });
  await people.by("nora", "POST", "/repos/crew/ship/issues/1/comments", { body: "Where?" });
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const croft = (...line: string[]) =>
  runCli(["activity", "list", ...line], {
    home: home.path,
    env: { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("nora") },
  });
const kindsOf = async (...line: string[]) =>
  ((await croft(...line, "--json")).json() as { op_type: string }[]).map((each) => each.op_type);

test("the noun has a verb to list feeds", () => {
  expect(entries.map(({ name }) => name)).toEqual(["list"]);
});

test("the feeds of users, organizations, teams and repositories are listed", async () => {
  expect(await kindsOf()).toEqual(["comment_issue", "create_issue"]);
  expect(await kindsOf("--performed")).toEqual(["comment_issue"]);
  expect(await kindsOf("--user", "mira", "--performed")).toEqual(["create_issue", "create_repo"]);
  const all = ["comment_issue", "create_issue", "create_repo"];
  expect(await kindsOf("--org", "crew")).toEqual(all);
  expect(await kindsOf("--repo", "crew/ship")).toEqual(all);
  expect(await kindsOf("--repo", "crew/ship", "--date", "2020-01-02")).toEqual([]);
  expect((await croft("--team", "crew/Owners")).code).toBe(6);
});

test("a line describes the activity in words, with control characters as escapes", async () => {
  const { out } = await croft("--org", "crew");
  const lines = out.trim().split("\n");
  expect(lines.map((line) => line.split("\t").slice(1))).toEqual([
    ["nora", "commented on the issue #1: Where?", "crew/ship"],
    ["mira", "opened the issue #1 A\\u001b[31mleak\\u202e", "crew/ship"],
    ["mira", "created the repository crew/ship", "crew/ship"],
  ]);
});

test("feeds that exclude each other and unknown days are usage errors", async () => {
  for (const line of [
    ["--org", "crew", "--repo", "crew/ship"],
    ["--org", "crew", "--performed"],
    ["--date", "yesterday"],
    ["--date", "2026-13-01"],
    ["--repo", "ship"],
  ])
    expect([line, (await croft(...line)).code]).toEqual([line, 2]);
  expect((await croft("--user", "nobody-has-this")).code).toBe(6);
});
