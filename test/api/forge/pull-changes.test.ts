import { chmod, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const repositories = createPullRepositories(
  () => daemon,
  people,
  () => git,
);
const { create, open, headOf, expectPull } = repositories;

/** A pull request of three commits with files of every kind. */
let path: string;
const BINARY = Buffer.from([0, 1, 2, 255, 254, 10, 13]);
const HOSTILE = "a b/ü#?%41\"'<x>.txt";

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  path = await create([]);
  await repositories.clone(path, "all", "main");
  const at = (name: string) => join(git.folder, "all", name);
  const commit = async (message: string) => {
    await git.in("all", "add", "-A");
    await git.in("all", "commit", "-q", "-m", message);
  };
  await writeFile(at("old.txt"), "one\ntwo\nthree\nfour\n");
  await writeFile(at("gone.txt"), "gone\n");
  await writeFile(at("mode.sh"), "#!/bin/sh\n");
  await writeFile(at("space.txt"), "a b\n");
  await writeFile(at("crlf.txt"), "a\nb\n");
  await writeFile(at("bytes.bin"), BINARY);
  await commit("Base");
  await git.in("all", "push", "-q", "origin", "main");
  await git.in("all", "checkout", "-q", "-b", "topic");
  await rename(at("old.txt"), at("new.txt"));
  await git.in("all", "rm", "-q", "gone.txt");
  await chmod(at("mode.sh"), 0o755);
  await writeFile(at("space.txt"), "a  b\n");
  await writeFile(at("crlf.txt"), "a\r\nb\r\n");
  await writeFile(at("bytes.bin"), Buffer.concat([BINARY, BINARY]));
  await commit("First");
  await mkdir(at("a b"));
  await writeFile(at(HOSTILE), "hostile\n");
  await symlink("crlf.txt", at("link"));
  await commit("Second");
  const head = (await git.in("all", "rev-parse", "HEAD")).output.trim();
  await git.in("all", "update-index", "--add", "--cacheinfo", `160000,${head},module`);
  await git.in("all", "commit", "-q", "-m", "Third");
  await git.in("all", "push", "-q", "origin", "topic");
  expect((await open(path, "topic")).status).toBe(201);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

test("the commits of a pull request come newest first, in pages", async () => {
  await expectPull(path, 1, { mergeable: true, changed_files: 9 });
  const found = await by("mira", "GET", `${path}/pulls/1/commits?limit=2`);
  expect(found.json.map((each: { commit: { message: string } }) => each.commit.message)).toEqual([
    "Third\n",
    "Second\n",
  ]);
  expect(Object.fromEntries(found.headers)).toMatchObject({
    "x-total-count": "3",
    "x-page": "1",
    "x-perpage": "2",
    "x-pagecount": "2",
    "x-hasmore": "true",
  });
  const short = await by("mira", "GET", `${path}/pulls/1/commits?files=false&verification=false`);
  expect(short.json).toHaveLength(3);
  expect(short.json[0].files ?? []).toEqual([]);
});

test("the files of a pull request have their states, and their addresses work", async () => {
  const found = await by("mira", "GET", `${path}/pulls/1/files`);
  expect(found.headers.get("x-total-count")).toBe("9");
  const states = Object.fromEntries(
    found.json.map((file: Record<string, unknown>) => [
      file["filename"],
      [file["status"], file["additions"], file["deletions"], file["previous_filename"]],
    ]),
  );
  expect(states).toEqual({
    [HOSTILE]: ["added", 1, 0, undefined],
    "bytes.bin": ["changed", 0, 0, undefined],
    "crlf.txt": ["changed", 2, 2, undefined],
    "gone.txt": ["deleted", 0, 1, undefined],
    link: ["added", 1, 0, undefined],
    "mode.sh": ["unchanged", 0, 0, undefined],
    module: ["added", 1, 0, undefined],
    "new.txt": ["renamed", 0, 0, "old.txt"],
    "space.txt": ["changed", 1, 1, undefined],
  });
  const names = found.json.map(({ filename }: { filename: string }) => filename);
  expect(names).toEqual(names.toSorted());
  const hostile = found.json.find(({ filename }: { filename: string }) => filename === HOSTILE);
  const head = await headOf(path, "topic");
  expect(hostile.contents_url).toContain(`?ref=${head}`);
  const local = (address: string) => address.slice(daemon.url.length);
  expect((await daemon.request(local(hostile.contents_url))).json.path).toBe(HOSTILE);
  expect((await daemon.request(local(hostile.raw_url))).text).toBe("hostile\n");
  expect((await by("mira", "GET", `${path}/pulls/1/files?limit=2&page=9`)).json).toEqual([]);
  const quiet = await by("mira", "GET", `${path}/pulls/1/files?whitespace=ignore-all`);
  const shown = quiet.json.map(({ filename }: { filename: string }) => filename);
  expect(shown).not.toContain("space.txt");
  expect(shown).not.toContain("crlf.txt");
  expect(shown).toContain("bytes.bin");
});

test("the diff and the patches of a pull request apply with git, at the API and at the web", async () => {
  const home = path.replace("/repos", "");
  const diff = await by("mira", "GET", `${path}/pulls/1.diff`);
  expect(diff.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(diff.text).toContain("Binary files a/bytes.bin and b/bytes.bin differ");
  expect((await daemon.request(`${home}/pulls/1.diff`)).text).toBe(diff.text);
  const binary = await by("mira", "GET", `${path}/pulls/1.diff?binary=true`);
  expect(binary.text).toContain("GIT binary patch");
  await repositories.clone(path, "applied", "main");
  await writeFile(join(git.folder, "all.diff"), binary.text);
  const applied = await git.in("applied", "apply", "--index", "../all.diff");
  expect(applied.exitCode).toBe(0);
  const tree = async (folder: string, name: string) =>
    (await git.in(folder, "rev-parse", name)).output.trim();
  expect((await git.in("applied", "write-tree")).output.trim()).toBe(
    await tree("all", "HEAD^{tree}"),
  );
  const patch = await by("mira", "GET", `${path}/pulls/1.patch`);
  const subjects = patch.text.match(/^Subject: .*/gm);
  expect(subjects).toEqual([
    "Subject: [PATCH 1/3] First",
    "Subject: [PATCH 2/3] Second",
    "Subject: [PATCH 3/3] Third",
  ]);
  expect((await daemon.request(`${home}/pulls/1.patch`)).text).toBe(patch.text);
  expect((await by("mira", "GET", `${path}/pulls/1.txt`)).status).toBe(404);
  expect((await by("mira", "GET", `${path}/pulls/2.diff`)).status).toBe(404);
});
