import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";

/** An entry of a folder of a commit. */
export interface TreeEntry {
  /** Octal, six digits. */
  readonly mode: string;
  /** `commit` is a submodule. */
  readonly type: "blob" | "tree" | "commit";
  readonly id: string;
  /** In bytes; 0 for folders and submodules. */
  readonly size: number;
  /** From the top folder of the listed tree. */
  readonly path: string;
}

/** Maximum number of paths of one run of git, because the system bounds the length of arguments. */
const PATHS_PER_RUN = 200;

/** Returns the entries at these paths of a commit or tree, by path; paths without an entry are left out. @throws GitError */
export async function findEntries(
  git: Git,
  tree: string,
  paths: readonly string[],
  options: ReadOptions,
): Promise<Map<string, TreeEntry>> {
  const requested = new Set(paths);
  const found = new Map<string, TreeEntry>();
  const list = [...requested];
  for (let at = 0; at < list.length; at += PATHS_PER_RUN) {
    const chunk = list.slice(at, at + PATHS_PER_RUN);
    // `-t` lists a folder too when a path below it is given.
    const args = ["ls-tree", "-z", "-l", "-t", "--full-tree", tree, "--", ...chunk];
    const env = { GIT_LITERAL_PATHSPECS: "1" };
    for await (const record of readRecords(git, args, { ...options, env })) {
      const entry = toEntry(record);
      if (entry !== undefined && requested.has(entry.path)) found.set(entry.path, entry);
    }
  }
  return found;
}

/** Folders with names that are not UTF-8 in one path: each is listed. */
const DECODED_DEPTH_MAX = 16;

/**
 * Finds an entry by a path as it is shown, in which replacement characters represent the bytes of names that are not
 * UTF-8; the first of several entries with the same display. @throws GitError
 */
export async function findDecodedEntry(
  git: Git,
  tree: string,
  path: string,
  options: ReadOptions,
): Promise<TreeEntry | undefined> {
  const segments = path.split("/");
  const plain = segments.findIndex((segment) => segment.includes("\ufffd"));
  if (plain === -1 || segments.length - plain > DECODED_DEPTH_MAX) return undefined;
  const above = segments.slice(0, plain).join("/");
  let entry =
    above === "" ? undefined : (await findEntries(git, tree, [above], options)).get(above);
  if (above !== "" && entry === undefined) return undefined;
  for (const segment of segments.slice(plain)) {
    if (entry !== undefined && entry.type !== "tree") return undefined;
    entry = await findChild(git, entry?.id ?? tree, segment, options);
    if (entry === undefined) return undefined;
  }
  return entry && { ...entry, path };
}

async function findChild(
  git: Git,
  tree: string,
  name: string,
  options: ReadOptions,
): Promise<TreeEntry | undefined> {
  for await (const entry of listTree(git, tree, options)) if (entry.path === name) return entry;
  return undefined;
}

/** Yields the entries of a tree, in the order of their names; with those of all folders below if `isRecursive`. @throws GitError */
export async function* listTree(
  git: Git,
  tree: string,
  { isRecursive = false, ...options }: ReadOptions & { readonly isRecursive?: boolean },
): AsyncGenerator<TreeEntry, void, undefined> {
  const flags = isRecursive ? ["-r", "-t"] : [];
  for await (const record of readRecords(git, ["ls-tree", "-z", "-l", ...flags, tree], options)) {
    const entry = toEntry(record);
    if (entry !== undefined) yield entry;
  }
}

function toEntry(record: string): TreeEntry | undefined {
  const [, mode, type, id, size, path] =
    /^(\d{6}) (blob|tree|commit) ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(record) ?? [];
  if (mode === undefined || id === undefined || path === undefined) return undefined;
  return { mode, type: type as TreeEntry["type"], id, size: size === "-" ? 0 : Number(size), path };
}
