import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCommitObjects, readTagObjects } from "../../../../storage/git/commit-objects.ts";
import { readCommits } from "../../../../storage/git/commits.ts";
import { createGit } from "../../../../storage/git/git.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let directory: string;
const run = (args: readonly string[], input: Buffer | string = "") =>
  execFileSync("git", args, { cwd: directory, input, encoding: "utf8" }).trim();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-encodings-"));
  run(["init", "-q", "--bare", "."]);
});
afterAll(() => rm(directory, { recursive: true }));

/** Bytes of texts, as other programs write them. */
const texts = {
  "ISO-8859-1": ["4bfc6368656e7465616d", "Küchenteam"],
  "windows-1251": ["c1f0e8e3e0e4e0", "Бригада"],
  KOI8R: ["e2d2c9c7c1c4c1", "Бригада"],
  CP1251: ["c1f0e8e3e0e4e0", "Бригада"],
  Shift_JIS: ["8d4c95f19594", "広報部"],
  CP932: ["8d4c95f19594", "広報部"],
  "EUC-JP": ["b9adcaf3c9f4", "広報部"],
  "KOI8-R": ["e2d2c9c7c1c4c1", "Бригада"],
  "no-such-encoding": ["c3a9ff", "é\ufffd"],
} as const;

test.each(Object.entries(texts))(
  "the encoding %s of a commit applies to its author, committer and message",
  async (encoding, [hex, text]) => {
    const tree = run(["mktree"]);
    const bytes = Buffer.from(hex, "hex");
    const person = (role: string) => [
      Buffer.from(`${role} `),
      bytes,
      Buffer.from(" <team@example.org> 1700000000 +0100\n"),
    ];
    const object = Buffer.concat([
      Buffer.from(`tree ${tree}\n`),
      ...person("author"),
      ...person("committer"),
      Buffer.from(`encoding ${encoding}\n\n`),
      bytes,
      Buffer.from("\n"),
    ]);
    const id = run(["hash-object", "-t", "commit", "-w", "--stdin"], object);
    const [commit] = await readCommitObjects(git, [id], { directory });
    const expected = { author: { name: text }, committer: { name: text }, message: `${text}\n` };
    expect(commit).toMatchObject(expected);
    const [listed] = await readCommits(git, directory, [id], 1);
    expect(listed?.author.name).toBe(text);
    expect(listed?.message.trim()).toBe(text);
  },
);

test("an annotated tag with an encoding is decoded as a whole", async () => {
  const tree = run(["mktree"]);
  const object = Buffer.concat([
    Buffer.from(`object ${tree}\ntype tree\ntag v1\ntagger K`),
    Buffer.from([0xfc]),
    Buffer.from("che <a@example.org> 1700000000 +0100\nencoding ISO-8859-1\n\nGr"),
    Buffer.from([0xfc]),
    Buffer.from("n\n"),
  ]);
  const id = run(["hash-object", "-t", "tag", "-w", "--stdin", "--literally"], object);
  const [tag] = await readTagObjects(git, [id], { directory });
  expect(tag).toMatchObject({ tagger: { name: "Küche" }, message: "Grün\n" });
});
