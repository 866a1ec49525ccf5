import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const { create, addFile, open, headOf, expectPull } = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  for (const name of ["mira", "otto"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const update = (path: string, style = "", who = "mira") =>
  by(who, "POST", `${path}/pulls/1/update${style === "" ? "" : `?style=${style}`}`);
const commitOf = async (path: string, branch: string) =>
  (await by("mira", "GET", `${path}/git/commits/${branch}`)).json;
const parentsOf = async (path: string, branch: string) =>
  (await commitOf(path, branch)).parents.map(({ sha }: { sha: string }) => sha);

test("an update merges the base into the head, or rebases the head, and is a push", async () => {
  const path = await create(["topic"]);
  await open(path, "topic");
  const before = await headOf(path, "topic");
  expect(await update(path)).toMatchObject({ status: 200, text: "" });
  expect(await headOf(path, "topic")).toBe(before);
  await addFile(path, "main", "one.txt", "one\n");
  expect((await update(path)).status).toBe(200);
  expect(await parentsOf(path, "topic")).toEqual([before, await headOf(path, "main")]);
  expect((await commitOf(path, "topic")).commit.message.trim()).toBe(
    "Merge branch 'main' into topic",
  );
  await expectPull(path, 1, { merge_base: await headOf(path, "main"), mergeable: true });
  await addFile(path, "main", "two.txt", "two\n");
  expect((await update(path, "rebase")).status).toBe(200);
  expect(await parentsOf(path, "topic")).toEqual([await headOf(path, "main")]);
  expect((await commitOf(path, "topic")).commit.message.trim()).toBe("Add topic.txt");
  await expectPull(path, 1, { changed_files: 1, head: { sha: await headOf(path, "topic") } });
});

test("an update is refused for conflicts, closed pull requests, forbidden styles and without the right to push", async () => {
  const path = await create(["topic"]);
  await open(path, "topic");
  await addFile(path, "main", "topic.txt", "conflict\n");
  for (const style of ["merge", "rebase"])
    expect(await update(path, style)).toMatchObject({
      status: 409,
      json: { message: `${style} failed because of conflict` },
    });
  expect((await update(path, "", "otto")).status).toBe(403);
  await by("mira", "PATCH", path, { allow_rebase_update: false });
  expect((await update(path, "rebase")).status).toBe(403);
  await by("mira", "PATCH", `${path}/pulls/1`, { state: "closed" });
  expect(await update(path)).toMatchObject({
    status: 422,
    json: { message: "pull request is closed" },
  });
});

test("an update of a fork's branch gets the objects of the base, also by a maintainer whom the author lets", async () => {
  const path = await create([]);
  await by("otto", "POST", `${path}/forks`, { name: "updated" });
  await by("otto", "POST", "/repos/otto/updated/contents/own.txt", {
    content: "",
    new_branch: "topic",
  });
  await open(path, "otto:topic", {}, "otto");
  for (const [style, who] of [
    ["merge", "otto"],
    ["rebase", "mira"],
  ] as const) {
    await addFile(path, "main", `${style}.txt`, style);
    expect((await update(path, style, who)).status).toBe(200);
    const parents = await parentsOf("/repos/otto/updated", "topic");
    expect(parents.at(-1)).toBe(await headOf(path, "main"));
  }
  await expectPull(path, 1, { changed_files: 1, mergeable: true });
  await by("otto", "PATCH", `${path}/pulls/1`, { allow_maintainer_edit: false });
  await addFile(path, "main", "last.txt", "last");
  expect((await update(path, "merge", "mira")).status).toBe(403);
});
