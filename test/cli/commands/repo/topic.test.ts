import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("topics are added, set, listed, searched and removed", async () => {
  expect(await optionsOf("repo topic add", ["mira/notes", "a", "b"])).toEqual({
    repository: { owner: "mira", repo: "notes" },
    topic: ["a", "b"],
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
  const plain = (...words: readonly string[]) =>
    runCli(["repo", ...words], { home: home.path, env });
  const croft = (...words: readonly string[]) => plain(...words, "--json");
  await croft("create", "notes");
  expect((await croft("topic", "add", "mira/notes", "go", "rust")).json()).toEqual({
    full_name: "mira/notes",
    topics: ["go", "rust"],
  });
  expect((await plain("topic", "list", "mira/notes")).out).toBe("go\nrust\n");
  expect((await croft("topic", "remove", "mira/notes", "go")).code).toBe(0);
  expect((await croft("topic", "remove", "mira/notes", "go")).code).toBe(6);
  expect((await croft("topic", "set", "mira/notes", "zig")).code).toBe(0);
  expect((await croft("topic", "search", "zi")).json()).toMatchObject([
    { topic_name: "zig", repo_count: 1 },
  ]);
  expect((await croft("topic", "add", "mira/notes", "a b")).error()).toMatchObject({
    code: "invalid",
    message: "Topic name is invalid",
  });
  expect((await croft("search", "zig", "--topic")).json()).toMatchObject([{ name: "notes" }]);
});
