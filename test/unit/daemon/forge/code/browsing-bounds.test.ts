import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBrowsing } from "../../../../../daemon/forge/code/browsing.service.ts";
import type {
  CodeAccess,
  CodeRequest,
  OpenedCode,
} from "../../../../../daemon/forge/code/open-code.ts";
import type { OpenedRepository } from "../../../../../daemon/forge/opened.ts";
import { createGit, type Git } from "../../../../../storage/git/git.ts";
import { toRepositoryId } from "../../../../../storage/tables/forge/ids.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let folder: string;
let starts = 0;
const plain = createGit({ searchPath: process.env["PATH"] ?? "" });
const git: Git = {
  ...plain,
  run(...args) {
    starts += 1;
    return plain.run(...args);
  },
};
const owned = {
  repository: { id: toRepositoryId(1), defaultBranch: "main" },
} as OpenedRepository;
const compute = createTestCompute();
const signal = new AbortController().signal;
const request = { opened: owned, caller: undefined, address: "", signal } as CodeRequest;
const toCode = () => ({ owned, git, directory: folder, signal }) as OpenedCode;

const run = (input: string, ...args: string[]) =>
  execFileSync("git", args, { cwd: folder, input, encoding: "utf8" }).trim();
const makeTree = (lines: readonly string[]) =>
  run(lines.map((line) => `${line}\n`).join(""), "mktree");
function commit(tree: string, message: string, name = "Mira"): string {
  const who = `${name} <mira@example.org> 1700000000 +0000`;
  const text = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\n${message}\n`;
  return run(text, "hash-object", "-t", "commit", "-w", "--stdin");
}

async function openBrowsing() {
  const db = await openTestDatabase();
  const access = { read: (_request, work) => work(toCode()) } as CodeAccess;
  return { db, browsing: createBrowsing({ db, access, compute }) };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-browsing-"));
  run("", "init", "-q", "--bare", "-b", "main");
});
afterAll(async () => {
  await compute.close();
  await rm(folder, { recursive: true });
});

test("a search of file names keeps a bounded number of characters of paths", async () => {
  const blob = run("", "hash-object", "-w", "--stdin");
  const files = Array.from({ length: 1_000 }, (_, index) => `100644 blob ${blob}\t${index}`);
  let tree = makeTree(files);
  const deep = "d".repeat(250);
  for (let level = 0; level < 20; level += 1) tree = makeTree([`040000 tree ${tree}\t${deep}`]);
  tree = makeTree(Array.from({ length: 20 }, (_, index) => `040000 tree ${tree}\t${index}`));
  const ref = commit(tree, "many long paths");
  const { db, browsing } = await openBrowsing();
  const found = await browsing.findFiles(request, { text: "", ref });
  expect(found.isWhole).toBe(false);
  expect(found.total * 20 * deep.length).toBeLessThanOrEqual(48 * 1024 * 1024);
  await db.close();
});

test("the caches of blames and contributors count the characters of texts", async () => {
  const blob = run("line\n", "hash-object", "-w", "--stdin");
  const tree = makeTree([`100644 blob ${blob}\ta.txt`]);
  const { db, browsing } = await openBrowsing();
  const count = async (ref: string) => {
    starts = 0;
    await browsing.blame(request, { path: "a.txt", ref });
    await browsing.contributors(request, ref, { page: 1, limit: 10 });
    return starts;
  };
  const short = commit(tree, "short");
  const first = await count(short);
  expect(await count(short)).toBeLessThan(first);
  for (const letter of ["a", "b"])
    await count(commit(tree, letter.repeat(18_000_000), letter.repeat(5_000_000)));
  expect(await count(short)).toBe(first);
  await db.close();
});

test("a contributor whose name has a carriage return is listed", async () => {
  const ref = commit(makeTree([]), "odd", "Mi\rra");
  const { db, browsing } = await openBrowsing();
  const found = await browsing.contributors(request, ref, { page: 1, limit: 10 });
  expect(found.contributors).toEqual([{ name: "Mi\rra", email: "mira@example.org", commits: 1 }]);
  await db.close();
});
