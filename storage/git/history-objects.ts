import { GitError } from "./git.ts";
import type { ObjectSession } from "./object-session.ts";

/** The trees of a commit and of its parent; undefined for a commit without parents. */
export type TreePair = readonly [tree: string, other: string | undefined];

/** The entries of a folder, `mode name NUL id` each. */
interface Tree {
  readonly bytes: Buffer;
  /** Where each entry starts, and the end of the last one. */
  readonly offsets: readonly number[];
}

/** Thrown when a search would have to read too much. */
export class SearchLimit extends Error {}

/** Maximum number of objects that one search reads: a few seconds. */
const READS_MAX = 50_000;
/** Maximum bytes of the trees that one search reads: about a second. */
const TREE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of cached trees: enough for a commit, its parents, and the commits around them. */
const TREES_CACHED = 32;
/** Maximum number of cached ids of folders. */
const FOLDERS_CACHED = 1_000;

const NO_ENTRIES: Tree = { bytes: Buffer.alloc(0), offsets: [0] };

/** Reads commits, and compares one folder of their trees, for a search of the history. */
export function openHistoryObjects(objects: ObjectSession, folder: string, readsMax = READS_MAX) {
  const commits = new Map<string, { readonly tree: string; readonly parents: readonly string[] }>();
  /** Ids of the folder by the ids of trees; undefined where a tree lacks it. */
  const folders = new Map<string, string | undefined>();
  const entries = new Map<string, Tree>();
  let reads = 0;
  let bytes = 0;

  const countReads = (count: number) => {
    reads += count;
    if (reads > readsMax) throw new SearchLimit();
  };

  /** Reads whole objects. */
  async function readWhole(ids: readonly string[]): Promise<readonly Buffer[]> {
    countReads(ids.length);
    const contents = await objects.readBeginnings(ids);
    if (contents.some(({ isCut }) => isCut)) throw new SearchLimit();
    return contents.map((each) => each.bytes);
  }

  async function findFolders(trees: readonly string[]): Promise<void> {
    const unknown = [...new Set(trees)].filter((tree) => !folders.has(tree));
    if (folder === "") for (const tree of unknown) folders.set(tree, tree);
    if (folder === "" || unknown.length === 0) return;
    countReads(unknown.length);
    const found = await objects.find(unknown.flatMap((tree) => [tree, `${tree}:${folder}`]));
    for (const [at, tree] of unknown.entries()) {
      const [root, below] = found.slice(at * 2);
      if (root === undefined) throw new GitError("failed", `git cat-file: missing tree ${tree}`);
      folders.set(tree, below?.type === "tree" ? below.id : undefined);
    }
  }

  async function readEntries(ids: readonly (string | undefined)[]): Promise<Tree[]> {
    const present = new Set(ids.filter((id) => id !== undefined));
    const unknown = [...present].filter((id) => !entries.has(id));
    const contents = unknown.length === 0 ? [] : await readWhole(unknown);
    for (const [at, id] of unknown.entries()) {
      const content = contents[at] ?? Buffer.alloc(0);
      bytes += content.byteLength;
      if (bytes > TREE_BYTES_MAX) throw new SearchLimit();
      entries.set(id, toTree(content, id.length / 2));
    }
    const found = ids.map((id) => (id === undefined ? undefined : entries.get(id)) ?? NO_ENTRIES);
    while (entries.size > TREES_CACHED) entries.delete(entries.keys().next().value ?? "");
    return found;
  }

  return {
    /** @throws GitError `SearchLimit` */
    async readCommit(
      id: string,
    ): Promise<{ readonly tree: string; readonly parents: readonly string[] }> {
      const cached = commits.get(id);
      if (cached !== undefined) return cached;
      const [content = Buffer.alloc(0)] = await readWhole([id]);
      const [, tree, lines = ""] =
        /^tree ([0-9a-f]+)\n((?:parent [0-9a-f]+\n)*)/.exec(content.toString("latin1")) ?? [];
      if (tree === undefined)
        throw new GitError("failed", `git cat-file: could not parse commit ${id}`);
      const parents = [...lines.matchAll(/[0-9a-f]{40,}/g)].map(([parent]) => parent);
      const commit = { tree, parents };
      commits.set(id, commit);
      return commit;
    },

    /**
     * Returns the names of the folder's entries that differ between two trees, for each pair. A missing tree, or a tree
     * without the folder, counts as empty. All trees are read with one query. @throws GitError `SearchLimit`
     */
    async readChanges(pairs: readonly TreePair[]): Promise<ReadonlySet<string>[]> {
      await findFolders(pairs.flat().filter((tree) => tree !== undefined));
      const toFolder = (tree: string | undefined) =>
        tree === undefined ? undefined : folders.get(tree);
      const ids = pairs.map(([tree, other]) => [toFolder(tree), toFolder(other)] as const);
      const trees = await readEntries(
        ids.flatMap(([id, other]) => (id === other ? [] : [other, id])),
      );
      // Only neighbours in history are compared again.
      while (folders.size > FOLDERS_CACHED) folders.delete(folders.keys().next().value ?? "");
      let at = 0;
      return ids.map(([id, other]) => {
        if (id === other) return new Set<string>();
        at += 2;
        return compareTrees(trees[at - 2] ?? NO_ENTRIES, trees[at - 1] ?? NO_ENTRIES);
      });
    },
  };
}

function toTree(bytes: Buffer, idBytes: number): Tree {
  const offsets = [0];
  for (let at = 0; at < bytes.byteLength;) {
    // Names are short: a call of `indexOf` for each would take longer.
    while (at < bytes.byteLength && bytes[at] !== 0) at += 1;
    if (at === bytes.byteLength) throw new GitError("failed", "git cat-file: corrupt tree");
    at += 1 + idBytes;
    offsets.push(at);
  }
  return { bytes, offsets };
}

/** Returns the names of entries that only one of two trees has. */
function compareTrees(before: Tree, after: Tree): Set<string> {
  const [removed, added] = withoutCommonEnds(before, after).map(toModesAndIds);
  const names = new Set([...(removed?.keys() ?? []), ...(added?.keys() ?? [])]);
  return new Set([...names].filter((name) => removed?.get(name) !== added?.get(name)));
}

/**
 * Returns the entries of two trees, as Latin-1 characters, without those that both begin and end with: most commits
 * change one entry, and texts of all others would cost more than reading them.
 */
function withoutCommonEnds(one: Tree, other: Tree): readonly [string[], string[]] {
  const [a, b] = [one.bytes, other.bytes];
  const [length, otherLength] = [a.byteLength, b.byteLength];
  const shorter = Math.min(length, otherLength);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[length - 1 - tail] === b[otherLength - 1 - tail]) tail += 1;
  const start = Math.max(
    one.offsets.findLastIndex((offset) => offset <= head),
    0,
  );
  let [end, otherEnd] = [one.offsets.length - 1, other.offsets.length - 1];
  while (end > start && otherEnd > start) {
    const size = length - (one.offsets[end - 1] ?? 0);
    if (size > tail || size !== otherLength - (other.offsets[otherEnd - 1] ?? 0)) break;
    end -= 1;
    otherEnd -= 1;
  }
  return [toTexts(one, start, end), toTexts(other, start, otherEnd)];
}

function toTexts({ bytes, offsets }: Tree, start: number, end: number): string[] {
  return offsets
    .slice(start, end)
    .map((from, index) => bytes.toString("latin1", from, offsets[start + index + 1]));
}

/**
 * Returns mode and id of entries by their names. Different names that are not UTF-8 may decode to the same text;
 * their modes and ids are concatenated.
 */
function toModesAndIds(entries: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const entry of entries) {
    const space = entry.indexOf(" ");
    const end = entry.indexOf("\0", space);
    if (space === -1 || end === -1) throw new GitError("failed", "git cat-file: corrupt tree");
    const name = Buffer.from(entry.slice(space + 1, end), "latin1").toString("utf8");
    const mode = toMode(Number.parseInt(entry.slice(0, space), 8));
    found.set(name, `${found.get(name) ?? ""} ${mode} ${entry.slice(end + 1)}`);
  }
  return found;
}

const TYPE_BITS = 0o170000;
const REGULAR = 0o100000;

/** Returns the mode as git compares it, because old programs wrote other permissions than 644 and 755. */
function toMode(mode: number): number {
  if ((mode & TYPE_BITS) !== REGULAR) return mode & TYPE_BITS;
  return REGULAR | ((mode & 0o100) === 0 ? 0o644 : 0o755);
}
