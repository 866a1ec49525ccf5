import { afterAll, beforeAll, expect, test } from "vitest";
import { toPushedCommits } from "../../../../../daemon/forge/hooks/pushed-commits.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../../../storage/git/commits.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

let db: Database;
beforeAll(async () => {
  db = await openTestDatabase();
});
afterAll(() => db.close());

function newCommit(fields: Partial<CommitWithFiles> = {}): CommitWithFiles {
  const person = { name: "Mira", email: "mira@example.org", at: "2026-01-01T00:00:00Z" };
  const nothing = { added: [], removed: [], modified: [], lacksFiles: false };
  return { id: "1", message: "One", author: person, committer: person, ...nothing, ...fields };
}

const toPushed = async (commits: readonly CommitWithFiles[]) =>
  (await toPushedCommits(db, { commits, total: 1, head: commits[0] }, undefined)).commits;

test("a commit within the limits of a payload stays as it is", async () => {
  const commit = newCommit({ added: ["a"], removed: ["b"], modified: ["c"] });
  expect(await toPushed([commit])).toEqual([commit]);
});

test("the paths of a payload have a number and a length at most, in all commits together", async () => {
  const short = Array.from({ length: 600 }, (_, index) => String(index));
  const many = await toPushed([newCommit({ added: short }), newCommit({ modified: short })]);
  expect(many.map(({ added, modified }) => [added.length, modified.length])).toEqual([
    [600, 0],
    [0, 400],
  ]);
  const long = "d".repeat(4_000);
  const few = await toPushed([
    newCommit({ added: Array<string>(10).fill(long) }),
    newCommit({ removed: [...Array<string>(10).fill(long), "short"], modified: ["short"] }),
  ]);
  expect(few.map(({ added, removed, modified }) => [added, removed, modified])).toEqual([
    [Array(10).fill(long), [], []],
    [[], Array(6).fill(long), []],
  ]);
});

test("the messages, names and addresses of a payload are cut", async () => {
  const author = { name: "n".repeat(9_000), email: "e".repeat(9_000), at: "2026-01-01T00:00:00Z" };
  const commits = await toPushed(
    Array.from({ length: 20 }, () => newCommit({ author, message: "m".repeat(20_000) })),
  );
  expect(commits.map(({ message }) => message.length)).toEqual([
    ...Array<number>(4).fill(16_384),
    ...Array<number>(16).fill(1_000),
  ]);
  expect([commits[0]?.author.name.length, commits[0]?.author.email.length]).toEqual([255, 255]);
});
