import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCommitGraphReader, parseCommitGraph } from "../../../../storage/git/commit-graph.ts";
import { hashPath } from "../../../../storage/git/path-filter.ts";
import { importRepository } from "../../../support/forge/import-stream.ts";
import { cases } from "../../../support/property.ts";

let folder: string;
let directory: string;
let graphs: string;
let bytes: Buffer;
const git = (...args: string[]) =>
  execFileSync("git", args, { cwd: directory, encoding: "utf8" }).trim();
const write = (...args: string[]) =>
  git("commit-graph", "write", "--reachable", "--changed-paths", "--no-progress", ...args);
const commit = (path: string) => ({ message: path, files: [{ path, content: path }] });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-graph-"));
  directory = join(folder, "a.git");
  graphs = join(directory, "objects/info/commit-graphs");
  await importRepository(folder, "a.git", ["a", "docs/b", "c"].map(commit));
  const tree = git("rev-parse", "main^{tree}");
  // The parents of a merge of more than two are in a list of their own.
  const parents = ["main", "main~1", "main~2"].flatMap((name) => ["-p", git("rev-parse", name)]);
  const identity = ["-c", "user.name=Mira", "-c", "user.email=mira@example.org"];
  git(
    "update-ref",
    "refs/heads/main",
    git(...identity, "commit-tree", tree, ...parents, "-m", "m"),
  );
  write("--split");
  const [name = ""] = (await readdir(graphs)).filter((each) => each.endsWith(".graph"));
  bytes = await readFile(join(graphs, name));
});
afterAll(() => rm(folder, { recursive: true }));

test("a commit-graph has the parents, trees and changed paths that git has", () => {
  const graph = parseCommitGraph([bytes]);
  if (graph === undefined) throw new Error("the graph was not parsed");
  for (const line of git("log", "--format=%H %T %P", "main").split("\n")) {
    const [id = "", tree, ...parents] = line.split(" ");
    const position = graph.find(id) ?? -1;
    expect(graph.idOf(position)).toBe(id);
    expect(graph.treeOf(position)).toBe(tree);
    expect(graph.parentsOf(position)?.map(graph.idOf)).toEqual(parents);
    for (const parent of graph.parentsOf(position) ?? [])
      expect(graph.generationOf(parent)).toBeLessThan(graph.generationOf(position));
  }
  expect(graph.find("1".repeat(40))).toBeUndefined();
  expect(graph.find("")).toBeUndefined();
  const second = graph.find(git("rev-parse", "main~2")) ?? -1;
  expect(["docs", "docs/b", "a"].map((path) => graph.mayChange(second, hashPath(path)))).toEqual([
    true,
    true,
    false,
  ]);
});

test("a damaged commit-graph is refused, or answers without an error", () => {
  const change = fc.record({
    at: fc.nat({ max: bytes.byteLength - 1 }),
    value: fc.nat({ max: 255 }),
  });
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 4 }),
      fc.nat({ max: bytes.byteLength }),
      (changes, length) => {
        const damaged = Buffer.from(bytes);
        for (const { at, value } of changes) damaged[at] = value;
        for (const each of [damaged, damaged.subarray(0, length)]) {
          const graph = parseCommitGraph([each]);
          if (graph === undefined) continue;
          for (let position = 0; position < 4; position += 1) {
            for (const parent of graph.parentsOf(position) ?? []) graph.idOf(parent);
            graph.find(graph.idOf(position));
            graph.find(graph.treeOf(position));
            graph.mayChange(position, hashPath("docs/b"));
          }
        }
      },
    ),
    cases(2_000),
  );
});

test("the reader follows the files that git writes, and takes none that is damaged or incomplete", async () => {
  const reader = createCommitGraphReader();
  const tip = git("rev-parse", "main");
  const before = await reader.read(directory);
  expect(before?.find(tip)).toBeDefined();
  expect(await reader.read(directory)).toBe(before);
  const chain = join(graphs, "commit-graph-chain");
  const text = await readFile(chain, "utf8");
  await writeFile(chain, `${"1".repeat(40)}\n${text}`);
  expect(await reader.read(directory)).toBeUndefined();
  await writeFile(chain, text);
  write();
  const single = join(directory, "objects/info/commit-graph");
  expect((await reader.read(directory))?.find(tip)).toBeDefined();
  await rm(single);
  await writeFile(single, "no graph");
  expect(await reader.read(directory)).toBeUndefined();
  await rm(single);
  expect(await reader.read(directory)).toBeUndefined();
  expect(await reader.read(join(folder, "none"))).toBeUndefined();
});
