import { setImmediate } from "node:timers/promises";
import type { CommitGraph } from "./commit-graph.ts";
import { GitError } from "./git.ts";
import { openHistoryObjects, SearchLimit, type TreePair } from "./history-objects.ts";
import type { ObjectSession } from "./object-session.ts";
import { hashPath, type PathHashes } from "./path-filter.ts";

/** Which commits to search for: the last ones that changed entries of a folder. */
export interface LastCommitQuery {
  /** The id of a commit. */
  readonly tip: string;
  /** Empty for the top folder. */
  readonly folder: string;
  readonly names: readonly string[];
  /** Ids of commits whose parents the repository lacks on purpose: a shallow clone has them. */
  readonly shallow: readonly string[];
  readonly graph: CommitGraph | undefined;
  /** Returns the result of an earlier search of the folder from a commit, where this search need not look again. */
  readonly findKnown?: ((commitId: string) => FoundCommits | undefined) | undefined;
  readonly readsMax?: number | undefined;
  /** Maximum number of lookups in filters; default about two seconds of them. */
  readonly lookupsMax?: number | undefined;
}

/** The result of a search. */
export interface FoundCommits {
  /** The ids of the commits by the names of the entries. */
  readonly found: ReadonlyMap<string, string>;
  /** Where a search that met its limit continues: the ids of commits by the names of the other entries. */
  readonly rest: ReadonlyMap<string, string>;
}

/** A searched entry. */
interface Entry {
  readonly name: string;
  /** Undefined when the name differs from the bytes of its entry; then no filter excludes it. */
  readonly path: PathHashes | undefined;
}

/** A commit: its position in the graph, or its id when the graph lacks it. */
type CommitKey = number | string;

/** Lookups in filters before other requests run: a few milliseconds. */
const LOOKUPS_PER_TURN = 20_000;
/** Lookups in filters of one search: about two seconds. */
const LOOKUPS_MAX = 20_000_000;
/** Maximum number of commits whose trees are read with one query. */
const BATCH_MAX = 64;

/**
 * Returns the ids of the commits that `git log -1 -- path` prints, by the names of the entries. If a commit has the
 * same entry as one of its parents, the search continues at the first such parent only, as git does; otherwise the
 * commit is the result. The filters of the graph make most comparisons unnecessary. The search is bounded, so it may have
 * a rest. @throws GitError
 */
export async function searchLastCommits(
  objects: ObjectSession,
  {
    tip,
    folder,
    names,
    shallow,
    graph,
    findKnown,
    readsMax,
    lookupsMax = LOOKUPS_MAX,
  }: LastCommitQuery,
): Promise<FoundCommits> {
  const found = new Map<string, string>();
  const history = openHistoryObjects(objects, folder, readsMax);
  const toKey = (id: string): CommitKey => graph?.find(id) ?? id;
  const ends = new Set(shallow.map(toKey));
  const segments = folder === "" ? [] : folder.split("/");
  /** The folder and those above it. The filter of a small commit is small: several paths exclude more than one. */
  const folderPaths = segments.map((_, at) => hashPath(segments.slice(0, at + 1).join("/")));
  /** The entries whose search continues at each commit. */
  const frontier = new Map<CommitKey, readonly Entry[]>();
  const add = (key: CommitKey, entries: readonly Entry[]) => {
    const before = frontier.get(key);
    frontier.set(key, before === undefined ? entries : [...before, ...entries]);
  };
  add(
    toKey(tip),
    names.map((name) => {
      const path = folder === "" ? name : `${folder}/${name}`;
      return { name, path: name.includes("\ufffd") ? undefined : hashPath(path) };
    }),
  );
  let lookups = 0;
  let pauseAt = LOOKUPS_PER_TURN;
  /** Grows, so that a short search reads little. */
  let batch = 1;

  for (;;) {
    const key = getNewest(frontier, graph);
    if (key === undefined) return { found, rest: new Map() };
    const here = frontier.get(key) ?? [];
    frontier.delete(key);
    try {
      if (lookups > lookupsMax) throw new SearchLimit();
      if (lookups >= pauseAt) {
        pauseAt = lookups + LOOKUPS_PER_TURN;
        await setImmediate();
      }
      const entries = takeKnown(key, here);
      if (entries.length === 0) continue;
      if (typeof key === "number" && frontier.size === 0 && (await followLine(key, entries)))
        continue;
      const parents =
        typeof key === "number" ? getParents(key) : ends.has(key) ? [] : await readParents(key);
      const [first] = parents;
      const candidates = first === undefined ? entries : filter(key, entries);
      if (first !== undefined && candidates.length < entries.length)
        add(first, candidates.length === 0 ? entries : without(entries, candidates));
      if (candidates.length > 0) await compare(key, parents, candidates);
    } catch (error) {
      if (error instanceof SearchLimit) return { found, rest: toRest(key, here) };
      throw error;
    }
  }

  /** Returns where the search continues, which stopped at `key` with some of `entries` not yet looked at. */
  function toRest(key: CommitKey, entries: readonly Entry[]): ReadonlyMap<string, string> {
    const rest = new Map(entries.map(({ name }) => [name, idOf(key)]));
    for (const [at, moved] of frontier) for (const { name } of moved) rest.set(name, idOf(at));
    for (const name of found.keys()) rest.delete(name);
    return rest;
  }

  function idOf(key: CommitKey): string {
    return typeof key === "number" && graph !== undefined ? graph.idOf(key) : String(key);
  }

  /** Moves the entries of an earlier search from this commit to where it led, and returns the others. */
  function takeKnown(key: CommitKey, entries: readonly Entry[]): readonly Entry[] {
    const known = findKnown?.(idOf(key));
    if (known === undefined) return entries;
    return entries.filter((entry) => {
      const id = known.found.get(entry.name);
      const next = known.rest.get(entry.name);
      if (id !== undefined) found.set(entry.name, id);
      else if (next === undefined || toKey(next) === key) return true;
      else add(toKey(next), [entry]);
      return false;
    });
  }

  /**
   * Follows first parents from a commit of the graph, as long as no merge is a candidate, and compares the candidates
   * with one query. Returns false, and changes nothing, when the first commit must be looked at alone.
   */
  async function followLine(start: number, entries: readonly Entry[]): Promise<boolean> {
    if (graph === undefined) return false;
    const steps: { position: number; candidates: readonly Entry[]; pair: TreePair }[] = [];
    let at = start;
    while (steps.length < batch && lookups < pauseAt) {
      const [first, second] = getParents(at);
      if (typeof first !== "number" || (at !== start && findKnown?.(graph.idOf(at)) !== undefined))
        break;
      const candidates = filter(at, entries);
      if (candidates.length > 0) {
        if (second !== undefined) break;
        const pair = [graph.treeOf(at), graph.treeOf(first)] as const;
        steps.push({ position: at, candidates, pair });
      }
      at = first;
    }
    if (at === start) return false;
    batch = Math.min(batch * 2, BATCH_MAX);
    const changes = await history.readChanges(steps.map(({ pair }) => pair));
    const rest = new Set(entries);
    for (const [index, { position, candidates }] of steps.entries())
      for (const entry of candidates)
        if (changes[index]?.has(entry.name) === true && rest.delete(entry))
          found.set(entry.name, graph.idOf(position));
    if (rest.size > 0) add(at, [...rest]);
    return true;
  }

  function getParents(position: number): readonly CommitKey[] {
    if (ends.has(position)) return [];
    const parents = graph?.parentsOf(position);
    // git reports a damaged graph in its own way.
    if (parents === undefined) throw new SearchLimit();
    return parents;
  }

  async function readParents(id: string): Promise<readonly CommitKey[]> {
    return (await history.readCommit(id)).parents.map(toKey);
  }

  /** Returns the entries that the commit may change against its first parent. */
  function filter(key: CommitKey, entries: readonly Entry[]): readonly Entry[] {
    if (typeof key === "string" || graph === undefined) return entries;
    lookups += 1;
    if (!folderPaths.every((path) => graph.mayChange(key, path))) return [];
    lookups += entries.length;
    return entries.filter(({ path }) => path === undefined || graph.mayChange(key, path));
  }

  /** Sends each entry to the first parent that has the same one; the commit is the result for the others. */
  async function compare(
    key: CommitKey,
    parents: readonly CommitKey[],
    entries: readonly Entry[],
  ): Promise<void> {
    const tree = await readTree(key);
    let rest = entries;
    for (const parent of parents) {
      if (rest.length === 0) return;
      const changed = await readChanges(tree, await readTree(parent));
      const same = rest.filter(({ name }) => !changed.has(name));
      if (same.length === 0) continue;
      add(parent, same);
      rest = without(rest, same);
    }
    const id = idOf(key);
    // An entry that the first commit lacks was never there.
    const created = parents.length > 0 ? undefined : await readChanges(tree, undefined);
    for (const { name } of rest)
      if (created === undefined || created.has(name)) found.set(name, id);
  }

  async function readChanges(...pair: TreePair): Promise<ReadonlySet<string>> {
    const [changed] = await history.readChanges([pair]);
    return changed ?? new Set();
  }

  async function readTree(key: CommitKey): Promise<string> {
    if (typeof key === "string") return (await history.readCommit(key)).tree;
    if (graph === undefined) throw new GitError("failed", `no graph has commit ${key}`);
    return graph.treeOf(key);
  }
}

/** Returns a commit that no other one of the frontier descends from, so that each commit is visited once. */
function getNewest(
  frontier: ReadonlyMap<CommitKey, unknown>,
  graph: CommitGraph | undefined,
): CommitKey | undefined {
  let newest: CommitKey | undefined;
  let highest = -1;
  for (const key of frontier.keys()) {
    // The graph has all ancestors of its commits: a commit that it lacks is not an ancestor.
    if (typeof key === "string") return key;
    if (frontier.size === 1) return key;
    const generation = graph?.generationOf(key) ?? 0;
    if (generation <= highest) continue;
    highest = generation;
    newest = key;
  }
  return newest;
}

function without(entries: readonly Entry[], excluded: readonly Entry[]): readonly Entry[] {
  const names = new Set(excluded.map(({ name }) => name));
  return entries.filter(({ name }) => !names.has(name));
}
