import type { Git } from "./git.ts";
import { readWholeObjects } from "./objects.ts";

/** A file of a commit, as text. */
export interface FolderFile {
  /** Without its folder. */
  readonly name: string;
  /** Undefined when the file is larger than allowed. */
  readonly text: string | undefined;
}

/** Which files of a commit are read. */
export interface FolderQuery {
  readonly commit: string;
  readonly name: RegExp;
  /** Of one folder. */
  readonly filesMax: number;
  /** Of one file. */
  readonly bytesMax: number;
}

interface FoundFile {
  readonly name: string;
  readonly id: string;
  readonly isReadable: boolean;
}

/**
 * Reads the files that lie directly in `folder` of a commit and whose names match; an empty list when there is no such
 * folder. Symbolic links are left out. @throws GitError
 */
export async function readFolderFiles(
  git: Git,
  directory: string,
  { folder, ...query }: FolderQuery & { readonly folder: string },
): Promise<FolderFile[]> {
  const found = await listFiles(git, directory, [folder], query);
  return readTexts(git, directory, found.get(folder) ?? [], query);
}

/** The same for the first of several folders that has such files; undefined when none has. @throws GitError */
export async function readFirstFolderFiles(
  git: Git,
  directory: string,
  { folders, ...query }: FolderQuery & { readonly folders: readonly string[] },
): Promise<{ readonly folder: string; readonly files: FolderFile[] } | undefined> {
  const found = await listFiles(git, directory, folders, query);
  const folder = folders.find((each) => found.has(each));
  if (folder === undefined) return undefined;
  return { folder, files: await readTexts(git, directory, found.get(folder) ?? [], query) };
}

/** Finds the files of several folders in one run of git; a folder without any has no entry. */
async function listFiles(
  git: Git,
  directory: string,
  folders: readonly string[],
  { commit, name, filesMax, bytesMax }: FolderQuery,
): Promise<ReadonlyMap<string, readonly FoundFile[]>> {
  const paths = folders.map((folder) => `${folder}/`);
  const output = await git.run(["ls-tree", "-z", "-l", commit, "--", ...paths], { directory });
  const found = new Map<string, FoundFile[]>();
  for (const line of output.toString("utf8").split("\0")) {
    const [, id, size, path = ""] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.*)$/s.exec(line) ?? [];
    const folder = path.slice(0, path.lastIndexOf("/"));
    const file = path.slice(folder.length + 1);
    if (id === undefined || !name.test(file)) continue;
    const files = found.get(folder) ?? [];
    if (files.length < filesMax)
      files.push({ name: file, id, isReadable: Number(size) <= bytesMax });
    found.set(folder, files);
  }
  return found;
}

async function readTexts(
  git: Git,
  directory: string,
  found: readonly FoundFile[],
  { bytesMax }: FolderQuery,
): Promise<FolderFile[]> {
  const ids = found.filter(({ isReadable }) => isReadable).map(({ id }) => id);
  const contents = (await readWholeObjects(git, ids, { directory, bytesMax })).values();
  return found.map(({ name, isReadable }) => ({
    name,
    // The decoder drops a byte order mark, which Windows programs write and which is not part of the text.
    text: isReadable ? new TextDecoder().decode(contents.next().value) : undefined,
  }));
}
