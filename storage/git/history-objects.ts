import { GitError } from "./git.ts";
import type { ObjectSession } from "./object-session.ts";

/** Reads commits, and compares one folder of their trees, for a search of the history. */
export interface HistoryObjects {
  /** @throws GitError `SearchLimit` */
  readCommit(id: string): Promise<{ readonly tree: string; readonly parents: readonly string[] }>;
  /**
   * Returns the names of the folder's entries that differ between two trees. A missing tree, or a tree without the
   * folder, counts as empty. @throws GitError `SearchLimit`
   */
  readChanges(tree: string, other: string | undefined): Promise<ReadonlySet<string>>;
}

/** Thrown when a search would have to read too much. */
export class SearchLimit extends Error {}

/** Maximum number of objects that one search reads: a few seconds. */
const READS_MAX = 50_000;
/** Maximum bytes of the trees that one search reads: about a second. */
const TREE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of cached trees: enough for a commit, its parents, and the commits around them. */
const TREES_CACHED = 32;

const NO_ENTRIES: ReadonlySet<string> = new Set();

export function openHistoryObjects(objects: ObjectSession, folder: string): HistoryObjects {
  const commits = new Map<string, { readonly tree: string; readonly parents: readonly string[] }>();
  /** Ids of the folder by the ids of trees; undefined where a tree lacks it. */
  const folders = new Map<string, string | undefined>();
  const entries = new Map<string, ReadonlySet<string>>();
  let reads = 0;
  let bytes = 0;

  const countReads = (count: number) => {
    reads += count;
    if (reads > READS_MAX) throw new SearchLimit();
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

  async function readEntries(ids: readonly (string | undefined)[]): Promise<ReadonlySet<string>[]> {
    const present = ids.filter((id) => id !== undefined);
    const unknown = present.filter((id) => !entries.has(id));
    const contents = unknown.length === 0 ? [] : await readWhole(unknown);
    for (const [at, id] of unknown.entries()) {
      const content = contents[at] ?? Buffer.alloc(0);
      bytes += content.byteLength;
      if (bytes > TREE_BYTES_MAX) throw new SearchLimit();
      entries.set(id, splitTree(content, id.length / 2));
    }
    const found = ids.map((id) => (id === undefined ? undefined : entries.get(id)) ?? NO_ENTRIES);
    while (entries.size > TREES_CACHED) entries.delete(entries.keys().next().value ?? "");
    return found;
  }

  return {
    async readCommit(id) {
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

    async readChanges(tree, other) {
      await findFolders(other === undefined ? [tree] : [tree, other]);
      const folderId = folders.get(tree);
      const otherFolderId = other === undefined ? undefined : folders.get(other);
      if (folderId === otherFolderId) return new Set();
      const [before = NO_ENTRIES, after = NO_ENTRIES] = await readEntries([
        otherFolderId,
        folderId,
      ]);
      return compareEntries(before, after);
    },
  };
}

/** Splits a tree object into its entries, `mode name NUL id` each, as Latin-1 characters. */
function splitTree(tree: Buffer, idBytes: number): Set<string> {
  const text = tree.toString("latin1");
  const entries = new Set<string>();
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\0", at);
    if (end === -1) throw new GitError("failed", "git cat-file: corrupt tree");
    const next = end + 1 + idBytes;
    entries.add(text.slice(at, next));
    at = next;
  }
  return entries;
}

/** Returns the names of entries that only one of two trees has. */
function compareEntries(before: ReadonlySet<string>, after: ReadonlySet<string>): Set<string> {
  const [removed, added] = [before.difference(after), after.difference(before)].map(toModesAndIds);
  const names = new Set([...(removed?.keys() ?? []), ...(added?.keys() ?? [])]);
  return new Set([...names].filter((name) => removed?.get(name) !== added?.get(name)));
}

/**
 * Returns mode and id of entries by their names. Different names that are not UTF-8 may decode to the same text;
 * their modes and ids are concatenated.
 */
function toModesAndIds(entries: ReadonlySet<string>): ReadonlyMap<string, string> {
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
