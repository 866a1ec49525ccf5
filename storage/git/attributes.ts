import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";
import type { TreeEntry } from "./trees.ts";

/** The value of an attribute: whether it is set, or its text. */
export type AttributeValue = boolean | string;

/** Paths that git refuses, and that only a damaged tree contains. */
const REFUSED = /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i;

/**
 * Yields the attributes of each path that has any of `names`, as the `.gitattributes` files of a commit specify them.
 * Git reads them from a temporary index with only these files, because it reads a commit only since 2.40. The index has
 * a name that `git prune` deletes if a crash leaves it. @throws GitError
 */
export async function* readAttributes(
  git: Git,
  {
    files,
    paths,
    names,
  }: {
    readonly files: readonly Pick<TreeEntry, "id" | "path">[];
    readonly paths: readonly string[];
    readonly names: readonly string[];
  },
  { directory, signal }: ReadOptions,
): AsyncGenerator<[string, ReadonlyMap<string, AttributeValue>], void, undefined> {
  const index = `objects/tmp_attributes_${randomUUID()}`;
  const options = { directory, signal, env: { GIT_INDEX_FILE: index } };
  try {
    const entries = files
      .filter(({ path }) => !REFUSED.test(path))
      .map(({ id, path }) => `100644 ${id}\t${path}\0`);
    await git.run(["update-index", "-z", "--index-info"], {
      ...options,
      // Nothing is checked out, so names that only other file systems take for `.git` are harmless.
      config: { "core.protectNTFS": "false", "core.protectHFS": "false" },
      input: entries.join(""),
    });
    const args = ["check-attr", "--cached", "--stdin", "-z", ...names];
    const input = paths.filter((path) => !REFUSED.test(path)).map((path) => `${path}\0`);
    let record: string[] = [];
    let found: [string, Map<string, AttributeValue>] | undefined;
    for await (const field of readRecords(git, args, { ...options, input: input.join("") })) {
      record.push(field);
      const [path = "", name = "", value] = record;
      if (value === undefined) continue;
      record = [];
      if (value === "unspecified") continue;
      if (found !== undefined && found[0] !== path) yield found;
      if (found?.[0] !== path) found = [path, new Map()];
      found[1].set(name, value === "set" || (value !== "unset" && value));
    }
    if (found !== undefined) yield found;
  } finally {
    await rm(join(directory, index), { force: true });
  }
}
