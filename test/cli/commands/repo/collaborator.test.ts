import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("adds a collaborator with write permission by default", async () => {
  const parse = (...line: string[]) => optionsOf("collaborator add", line);
  expect(await parse("mira/notes", "nora")).toEqual({
    repository: { owner: "mira", repo: "notes" },
    username: "nora",
    permission: "write",
  });
  expect(
    await refusalOf("collaborator add", ["mira/notes", "nora", "--permission", "owner"]),
  ).toContain("--permission takes");
});

test("collaborators are added, shown, listed and removed", async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  for (const name of ["mira", "nora"]) await people.newUser(name);
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
  const croft = (...line: readonly string[]) =>
    runCli(["repo", ...line, "--json"], { home: home.path, env });
  await croft("create", "notes", "--private");
  const notes = (verb: string, ...more: string[]) =>
    croft("collaborator", verb, "mira/notes", ...more);
  expect((await notes("add", "nora", "--permission", "read")).json()).toEqual({
    added: true,
    username: "nora",
    permission: "read",
  });
  expect((await notes("list")).json()).toMatchObject([{ username: "nora" }]);
  expect((await notes("view", "nora")).json()).toMatchObject({ permission: "read" });
  expect((await notes("add", "nobody")).code).toBe(12);
  expect((await notes("remove", "nora", "--yes")).json()).toEqual({
    removed: true,
    username: "nora",
  });
  expect((await notes("list")).json()).toEqual([]);
});
