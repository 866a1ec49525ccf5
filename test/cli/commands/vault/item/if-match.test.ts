import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { STRONG } from "../../../../support/vault/vault-accounts.ts";
import {
  connectFolder,
  type FolderDaemon,
  startFolderDaemon,
} from "../../../../support/vault/local-folders.ts";
import { refusalOf } from "../../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";

let folders: FolderDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
let folder: string;

beforeAll(async () => {
  folders = await startFolderDaemon();
  home = await temporaryHome();
  ({ folder } = await connectFolder(folders, folders.mira, "Papers"));
  await connectFolder(folders, folders.mira, "Other");
  const login = ["login", "vault", "--email", folders.mira.email, "--password-stdin"];
  expect((await croft(login, STRONG)).code).toBe(0);
  await writeFile(join(home.path, "new.txt"), "three");
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await folders.stop();
});
beforeEach(async () => {
  for (const name of await readdir(folder))
    if (name !== ".croft") await rm(join(folder, name), { recursive: true });
  await mkdir(join(folder, "sub"));
  await writeFile(join(folder, "notes.md"), "one");
  const listed = await croft(["vault", "item", "list", "Papers:/", "--refresh", "--json"]);
  expect(listed.code, listed.err).toBe(0);
});

function croft(line: readonly string[], stdin = "") {
  return runCli(line, { home: home.path, env: { CROFT_URL: folders.daemon.url }, stdin });
}

async function etagOf(item: string): Promise<string> {
  const ran = await croft(["vault", "item", "view", item, "--jq", ".etag"]);
  expect(ran.code, ran.err).toBe(0);
  return ran.out.trim();
}

const changes: readonly (readonly [command: string, ...words: string[]])[] = [
  ["rename", "Papers:/notes.md", "renamed.md"],
  ["move", "Papers:/notes.md", "Papers:/sub"],
  ["move", "Papers:/notes.md", "Other:/"],
  ["delete", "Papers:/notes.md", "--yes"],
  ["upload", "new.txt", "Papers:/notes.md"],
  ["edit", "Papers:/notes.md", "--editor", "echo more >>"],
];

test.each(changes)("item %s --if-match refuses another version", async (command, ...words) => {
  const old = await etagOf("Papers:/notes.md");
  await writeFile(join(folder, "notes.md"), "two, by another program");
  const line = ["vault", "item", command, ...words, "--if-match", old, "--json"];
  const ran = await croft(line);
  expect([ran.code, ran.out, ran.error()["code"]]).toEqual([7, "", "stale"]);
  expect(ran.error()).toMatchObject({
    reason: "precondition_failed",
    message: `Papers:/notes.md is no longer the version ${old}: nothing was changed`,
    hint: expect.stringContaining("croft vault item view 'Papers:/notes.md'"),
  });
  expect(await readFile(join(folder, "notes.md"), "utf8")).toBe("two, by another program");
  // The command of the hint shows the version that the change then takes.
  const now = await etagOf("Papers:/notes.md");
  expect(now).not.toBe(old);
  const again = await croft([...line.slice(0, -2), now, "--json"]);
  expect(again.code, again.err).toBe(0);
});

test("an upload with --if-match does not create a file", async () => {
  const line = ["vault", "item", "upload", "new.txt", "Papers:/none.md", "--if-match", "x"];
  expect((await croft(line)).code).toBe(7);
  expect(await readdir(folder)).not.toContain("none.md");
});

test("an empty etag and several items are usage errors", async () => {
  expect(await refusalOf("vault item delete", ["Papers:/a", "--if-match", ""])).toContain(
    "not an empty text",
  );
  const several = ["vault", "item", "delete", "Papers:/a", "Papers:/b", "--if-match", "x", "--yes"];
  expect((await croft(several)).code).toBe(2);
});

test("of two replacements of one version at once, one succeeds", async () => {
  const etag = await etagOf("Papers:/notes.md");
  await writeFile(join(home.path, "other.txt"), "four");
  const ran = await Promise.all(
    ["new.txt", "other.txt"].map((file) =>
      croft(["vault", "item", "upload", file, "Papers:/notes.md", "--if-match", etag, "--json"]),
    ),
  );
  expect(ran.map(({ code }) => code).toSorted()).toEqual([0, 7]);
});
