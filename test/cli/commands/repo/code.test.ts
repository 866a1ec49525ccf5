import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const notes = { repository: { owner: "mira", repo: "notes" } };

test("a new branch, a new tag and a log are named by their arguments", async () => {
  expect(await optionsOf("repo branch create", ["mira/notes", "b", "--from", "v1"])).toEqual({
    ...notes,
    branch: "b",
    from: "v1",
  });
  expect(await optionsOf("repo tag create", ["mira/notes", "v1", "-m", "One"])).toEqual({
    ...notes,
    tag: "v1",
    message: "One",
  });
  expect(await optionsOf("repo log", ["mira/notes", "main", "--path", "docs"])).toEqual({
    ...notes,
    ref: "main",
    path: "docs",
  });
});

test("branches and tags are created, listed, renamed and deleted; commits are listed and compared", async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
  const plain = (...line: readonly string[]) => runCli(["repo", ...line], { home: home.path, env });
  const croft = (...line: readonly string[]) => plain(...line, "--json");
  await croft("create", "notes", "--init");
  expect((await croft("branch", "create", "mira/notes", "feature/a")).json()).toMatchObject({
    name: "feature/a",
  });
  expect((await croft("branch", "rename", "mira/notes", "feature/a", "b")).code).toBe(0);
  const branches = (await croft("branch", "list", "mira/notes")).json() as { name: string }[];
  expect(branches.map(({ name }) => name).toSorted()).toEqual(["b", "main"]);
  expect((await croft("branch", "view", "mira/notes", "none")).code).toBe(6);
  expect((await croft("branch", "delete", "mira/notes", "b", "--yes")).json()).toEqual({
    deleted: true,
    branch: "b",
  });
  expect((await croft("tag", "create", "mira/notes", "v1", "-m", "One")).json()).toMatchObject({
    message: "One",
  });
  expect((await croft("tag", "list", "mira/notes")).json()).toHaveLength(1);
  expect((await croft("tag", "delete", "mira/notes", "v1", "--yes")).code).toBe(0);
  const rule = await croft("protection", "create", "mira/notes", "main", "--push-user", "mira");
  expect(rule.json()).toMatchObject({
    enable_push: true,
    enable_push_whitelist: true,
    push_whitelist_usernames: ["mira"],
  });
  const edit = await croft("protection", "edit", "mira/notes", "main", "--force-push", "true");
  expect(edit.json()).toMatchObject({ enable_push: true, enable_force_push: true });
  expect((await croft("protection", "list", "mira/notes")).json()).toHaveLength(1);
  expect((await croft("protection", "delete", "mira/notes", "main", "--yes")).code).toBe(0);
  expect((await croft("log", "mira/notes")).json()).toMatchObject([
    { commit: { message: "Initial commit\n" } },
  ]);
  expect((await croft("show", "mira/notes", "main")).json()).toMatchObject({
    files: [{ filename: "README.md", status: "added" }],
  });
  const diff = await plain("show", "mira/notes", "main", "--diff");
  expect(diff.out).toContain("+# notes");
  expect((await croft("browse", "mira/notes")).json()).toMatchObject([{ name: "README.md" }]);
  expect((await croft("browse", "mira/notes", "none")).code).toBe(6);
  expect((await plain("cat", "mira/notes", "README.md")).out).toBe("# notes\n\n");
  const archive = join(home.path, "notes.zip");
  expect((await croft("download", "mira/notes", "--zip", "--output", archive)).json()).toEqual({
    path: archive,
    ref: "main",
  });
  expect((await readFile(archive)).subarray(0, 2).toString()).toBe("PK");
  await writeFile(archive, "mine");
  const again = ["download", "mira/notes", "--zip", "--output", archive, "--progress", "json"];
  expect((await croft(...again)).error()).toMatchObject({ code: "conflict" });
  expect(await readFile(archive, "utf8")).toBe("mine");
  expect((await croft(...again, "--force")).err).toContain(`"item":${JSON.stringify(archive)}`);
  expect((await readFile(archive)).subarray(0, 2).toString()).toBe("PK");
  expect((await croft("archive", "mira/notes")).code).toBe(2);
  expect((await croft("archive", "mira/notes", "--yes")).json()).toMatchObject({ archived: true });
  expect((await croft("unarchive", "mira/notes", "--yes")).json()).toMatchObject({
    archived: false,
  });
  expect((await croft("compare", "mira/notes", "main...main")).json()).toEqual([]);
  expect((await plain("compare", "mira/notes", "main...main", "--diff")).out).toBe("");
});
