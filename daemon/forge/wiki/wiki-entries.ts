import { type ObjectSession } from "../../../storage/git/object-session.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import { chooseDefaultBranch, readBranches, readHeadBranch } from "../../../storage/git/refs.ts";
import { findEntries, listTree, type TreeEntry } from "../../../storage/git/trees.ts";
import { AppError } from "../../errors.ts";
import type { OpenedCode } from "../code/open-code.ts";
import { cleanPath } from "../repositories/paths.ts";
import { findCandidates, pathToName } from "./wiki-names.ts";

/** The pages that are shown beside every page. */
export const SIDEBAR = "_Sidebar";
export const FOOTER = "_Footer";

/** Maximum number of pages that are listed: people write hundreds, and one listing holds all in memory. */
const PAGES_MAX = 20_000;

/** The branch of a wiki, and its commit; undefined before the first one. */
export interface WikiTip {
  readonly ref: string;
  readonly commitId: string | undefined;
}

/** Where to read: a repository whose wiki is open. */
type OpenedWiki = Pick<OpenedCode, "git" | "directory" | "signal">;

export const noPage = (): AppError => new AppError("not_found", "the wiki has no such page");

export async function findTip({ git, directory, signal }: OpenedWiki): Promise<WikiTip> {
  const head = (await readHeadBranch(directory)) ?? "main";
  const ofHead = await resolve(head);
  if (ofHead.commitId !== undefined) return ofHead;
  // A crash after the first push of another branch.
  const chosen = chooseDefaultBranch(await readBranches(git, directory), []);
  return chosen === undefined ? ofHead : resolve(chosen);

  async function resolve(branch: string): Promise<WikiTip> {
    const ref = `refs/heads/${branch}`;
    const [commit] = await findObjects(git, [`${ref}^{commit}`], { directory, signal });
    return { ref, commitId: commit?.id };
  }
}

/** Returns the newest commit of a wiki. Refuses with `not_found` a wiki without one. */
export async function getTip(wiki: OpenedWiki): Promise<string> {
  const { commitId } = await findTip(wiki);
  if (commitId === undefined) throw new AppError("not_found", "the wiki has no pages");
  return commitId;
}

/** Returns a commit by its whole id. Refuses with `not_found`. */
export async function getCommit({ git, directory, signal }: OpenedWiki, id: string) {
  const isId = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(id);
  const [found] = isId ? await findObjects(git, [`${id}^{commit}`], { directory, signal }) : [];
  if (found === undefined) throw new AppError("not_found", "the wiki has no such commit");
  return found.id;
}

/** Returns the pages of a commit with their files, by the names of the files. */
export async function listPages(
  { git, directory, signal }: OpenedWiki,
  tip: string,
): Promise<{ readonly name: string; readonly path: string }[]> {
  const pages: { name: string; path: string }[] = [];
  for await (const entry of listTree(git, tip, { directory, signal })) {
    const name = isPage(entry) ? pathToName(entry.path) : undefined;
    if (name !== undefined) pages.push({ name, path: entry.path });
    if (pages.length === PAGES_MAX) break;
  }
  return pages;
}

/** The name of a file that is not UTF-8 could not be asked for. */
const isPage = (entry: TreeEntry) => isFile(entry) && !entry.path.includes("\ufffd");

/** Neither a link, nor a folder, nor a submodule. */
const isFile = ({ type, mode }: TreeEntry) => type === "blob" && mode.startsWith("100");

/** Returns the entries of pages in a commit by the names of the pages; missing ones are left out. */
export async function findPages(
  wiki: OpenedWiki,
  tip: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const found = await findAll(wiki, tip, names.flatMap(findCandidates));
  const entries = names.map((name) => [name, choose(found, findCandidates(name))] as const);
  return new Map(entries.flatMap(([name, entry]) => (entry === undefined ? [] : [[name, entry]])));
}

/** Returns the entry of a page. Refuses with `not_found`. */
export async function getPage(wiki: OpenedWiki, tip: string, name: string): Promise<TreeEntry> {
  const entry = (await findPages(wiki, tip, [name])).get(name);
  if (entry === undefined) throw noPage();
  return entry;
}

/** Returns the name under which a page is listed: requests may spell it in other ways. */
export const toOwnName = ({ path }: TreeEntry, name: string): string => pathToName(path) ?? name;

/** Returns the first of these files that exists. */
export async function findFile(
  wiki: OpenedWiki,
  tip: string,
  paths: readonly string[],
): Promise<TreeEntry | undefined> {
  return choose(await findAll(wiki, tip, paths), paths);
}

/** Returns whether a path is taken, by whatever entry. */
export async function isTaken(
  wiki: OpenedWiki,
  tip: string | undefined,
  path: string,
): Promise<boolean> {
  return tip !== undefined && (await findAll(wiki, tip, [path])).has(path);
}

const choose = (found: ReadonlyMap<string, TreeEntry>, paths: readonly string[]) =>
  paths.map((path) => found.get(path)).find((entry) => entry !== undefined && isFile(entry));

function findAll({ git, directory, signal }: OpenedWiki, tip: string, paths: readonly string[]) {
  return findEntries(git, tip, paths.filter(isUsable), { directory, signal });
}

/** Returns whether git may be asked for a path. */
function isUsable(path: string): boolean {
  try {
    return path !== "" && cleanPath(path) === path;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** Reads a page; undefined for one that is missing or larger than `bytesMax`. @throws GitError */
export async function readContent(
  objects: ObjectSession,
  entry: TreeEntry | undefined,
  bytesMax: number,
): Promise<Buffer | undefined> {
  if (entry === undefined || entry.size > bytesMax) return undefined;
  return objects.read(entry.id, bytesMax);
}
