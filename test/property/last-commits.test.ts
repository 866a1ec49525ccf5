import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createCommitGraphReader } from "../../storage/git/commit-graph.ts";
import { createGit } from "../../storage/git/git.ts";
import type { FoundCommits } from "../../storage/git/last-commit-search.ts";
import { readLastCommits } from "../../storage/git/last-commits.ts";
import { type ObjectSession, withObjectSession } from "../../storage/git/object-session.ts";
import { clientEnvironment } from "../support/forge/git-client.ts";
import { cases } from "../support/property.ts";

// Random histories with merges, reverts, deletions, changed modes, files that become folders, and commit-graphs that were
// written at different times, in one file or in several. Each last commit must be that of `git log -1 -- path`.

const run = promisify(execFile);
const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const reader = createCommitGraphReader();

const PATHS = ["a", "b", "d/a", "d/e/a", "d/é", "d", "[a]*"] as const;
const MODES = ["100644", "100755", "120000"] as const;

/** A commit: its parents as distances back, and the paths that it writes or deletes. */
interface Step {
  readonly parents: readonly number[];
  readonly changes: readonly {
    readonly path: number;
    readonly mode: number;
    /** Undefined deletes the path. */
    readonly content: number | undefined;
  }[];
  /** Paths that a merge takes from its last parent. */
  readonly taken: readonly number[];
  readonly graph: "none" | "single" | "split";
}

const step: fc.Arbitrary<Step> = fc.record({
  parents: fc.oneof(
    { weight: 3, arbitrary: fc.constant([1]) },
    { weight: 1, arbitrary: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }) },
    { weight: 3, arbitrary: fc.uniqueArray(fc.integer({ min: 1, max: 3 }), { minLength: 2 }) },
  ),
  changes: fc.array(
    fc.record({
      // Few values, so that sides of a merge often agree.
      path: fc.oneof(fc.nat({ max: 1 }), fc.nat({ max: PATHS.length - 1 })),
      mode: fc.oneof(fc.nat({ max: 1 }), fc.nat({ max: MODES.length - 1 })),
      content: fc.oneof(
        { weight: 4, arbitrary: fc.nat({ max: 1 }) },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
    }),
    { maxLength: 4 },
  ),
  taken: fc.array(fc.nat({ max: PATHS.length - 1 }), { maxLength: 3 }),
  graph: fc.constantFrom("none", "none", "none", "single", "split"),
});

interface History {
  readonly directory: string;
  /** The ids of the commits, the oldest first. */
  readonly ids: readonly string[];
  /** The results of earlier searches, by commit and folder. */
  readonly searched: Map<string, FoundCommits>;
}

/** Makes a repository, and its commit-graph of the commits up to those steps that write one. */
async function makeHistory(folder: string, steps: readonly Step[], format: string) {
  const directory = await mkdtemp(join(folder, "r-"));
  const env = clientEnvironment(folder);
  const inside = { cwd: directory, env };
  await run("git", ["init", "-q", "--bare", "-b", "main", `--object-format=${format}`], inside);
  const lines: string[] = [];
  /** What each commit has at the paths, as commands of `git fast-import`. */
  const trees: Map<number, readonly string[]>[] = [];
  for (const [index, { parents, changes, taken }] of steps.entries()) {
    const from = [...new Set(parents.map((back) => index - back))].filter((at) => at >= 0);
    // Times are out of order: the order of commits must not depend on them.
    const at = 1_600_000_000 + ((index * 7) % 5);
    lines.push(`commit refs/heads/c${index}`, `mark :${index + 1}`);
    lines.push(`committer Mira <mira@example.org> ${at} +0000`, "data 1", "x");
    for (const [order, parent] of from.entries())
      lines.push(`${order === 0 ? "from" : "merge"} :${parent + 1}`);
    const tree = new Map(trees[from[0] ?? -1]);
    for (const path of taken) {
      const theirs = trees[from.at(-1) ?? -1]?.get(path);
      if (theirs !== undefined) tree.set(path, theirs);
      lines.push(...(theirs ?? []));
    }
    for (const { path, mode, content } of changes) {
      const written =
        content === undefined
          ? [`D "${PATHS[path]}"`]
          : [`M ${MODES[mode]} inline "${PATHS[path]}"`, "data 1", String(content)];
      tree.set(path, written);
      lines.push(...written);
    }
    trees.push(tree);
    lines.push("");
  }
  const child = spawn("git", ["fast-import", "--quiet", "--force"], {
    ...inside,
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(`${lines.join("\n")}\n`);
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(0);
  const { stdout } = await run(
    "git",
    ["rev-parse", ...steps.map((_, index) => `refs/heads/c${index}`)],
    inside,
  );
  const ids = stdout.trim().split("\n");
  for (const [index, { graph }] of steps.entries()) {
    if (graph === "none") continue;
    const args = ["commit-graph", "write", "--stdin-commits", "--changed-paths", "--no-progress"];
    const writing = run(
      "git",
      [...args, ...(graph === "split" ? ["--split=no-merge"] : [])],
      inside,
    );
    writing.child.stdin?.end(`${ids.slice(0, index + 1).join("\n")}\n`);
    await writing;
  }
  return { directory, ids, searched: new Map() };
}

/** Compares the entries of every folder of a commit, together and alone, with git's own answers. */
async function compareWithGit({ directory, searched }: History, tip: string): Promise<void> {
  const options = { cwd: directory, env: { ...process.env, GIT_LITERAL_PATHSPECS: "1" } };
  const { stdout } = await run("git", ["ls-tree", "-r", "-t", "-z", "--name-only", tip], options);
  const folders = new Map<string, string[]>();
  for (const path of stdout.split("\0").filter((each) => each !== "")) {
    const slash = path.lastIndexOf("/");
    const folder = path.slice(0, Math.max(slash, 0));
    folders.set(folder, [...(folders.get(folder) ?? []), path.slice(slash + 1)]);
  }
  await withObjectSession(git, { directory }, async (objects) => {
    for (const [folder, names] of folders) await compareFolder(objects, folder, names);
  });

  async function compareFolder(objects: ObjectSession, folder: string, names: readonly string[]) {
    const expected = new Map<string, string>();
    for (const name of names) {
      const path = folder === "" ? name : `${folder}/${name}`;
      const log = await run("git", ["log", "-1", "--format=%H", tip, "--", path], options);
      expected.set(name, log.stdout.trim());
    }
    const tools = { git: { ...git, run: failing }, objects, graphs: reader };
    const known = {
      find: (id: string) => searched.get(`${id} ${folder}`),
      keep: (result: FoundCommits) => searched.set(`${tip} ${folder}`, result),
    };
    // A search that meets its limit continues at the next look, and a later commit uses what an earlier one found.
    for (let isComplete = false; !isComplete;) {
      const part = { directory, tip, folder, names, known, readsMax: 16 };
      const result = await readLastCommits({ ...tools, git }, part);
      isComplete = searched.get(`${tip} ${folder}`)?.rest.size === 0;
      for (const name of isComplete ? names : result.commits.keys())
        expect(result.commits.get(name)?.id, `${name} in ${folder}`).toBe(expected.get(name));
    }
    for (const wanted of [names, ...names.map((name) => [name])]) {
      const found = await readLastCommits(tools, { directory, tip, folder, names: wanted });
      for (const name of wanted)
        expect(found.commits.get(name)?.id, `${name} in ${folder}`).toBe(expected.get(name));
    }
  }
}

/** The search must find the commits itself: git's own search would hide its errors. */
const failing: typeof git.run = (args) => Promise.reject(new Error(`git ${args.join(" ")}`));

test("the last commit of each path is that of git log -1, in every history and with every commit-graph", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-last-"));
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 14 }),
        fc.constantFrom("sha1", "sha1", "sha256"),
        fc.nat(),
        async (steps, format, pick) => {
          const history = await makeHistory(folder, steps, format);
          // The last commit, and another one, as after a forced push.
          await compareWithGit(history, history.ids.at(-1) ?? "");
          await compareWithGit(history, history.ids[pick % history.ids.length] ?? "");
          await rm(history.directory, { recursive: true });
        },
      ),
      cases(20),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}, 300_000);

test("a shallow history, grafts and replaced commits give the answers of git", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-last-"));
  try {
    const steps: Step[] = [0, 1, 2, 3, 4].map((index) => ({
      parents: [1],
      changes: [{ path: index % 2, mode: 0, content: index % 3 }],
      taken: [],
      graph: index === 3 ? "single" : "none",
    }));
    const history = await makeHistory(folder, steps, "sha1");
    const { directory, ids } = history;
    const [tip = "", below = "", first = ""] = [ids[4], ids[3], ids[0]];
    await writeFile(join(directory, "shallow"), `${below}\n`);
    await compareWithGit(history, tip);
    await rm(join(directory, "shallow"));
    await writeFile(join(directory, "info/grafts"), `${tip} ${first}\n`);
    const search = (names: string[]) =>
      withObjectSession(git, { directory }, (objects) =>
        readLastCommits({ git, objects, graphs: reader }, { directory, tip, folder: "", names }),
      );
    expect((await search(["b"])).commits.get("b")?.id).toBe(tip);
    await rm(join(directory, "info/grafts"));
    // A ref that replaces a commit for git's own commands is no more than a ref here.
    await run("git", ["replace", tip, first], { cwd: directory });
    expect((await search(["a"])).commits.get("a")?.id).toBe(ids[4]);
    expect((await search(["b"])).commits.get("b")?.id).toBe(ids[3]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
