import type { Git } from "./git.ts";
import { readWholeObjects } from "./objects.ts";

/** A file of a commit, as text. */
export interface FolderFile {
  /** Without its folder. */
  readonly name: string;
  /** Undefined when the file is larger than allowed. */
  readonly text: string | undefined;
}

/**
 * Reads the files that lie directly in `folder` of a commit and whose names match; an empty list when there is no such
 * folder. Symbolic links are left out. @throws GitError
 */
export async function readFolderFiles(
  git: Git,
  directory: string,
  {
    commit,
    folder,
    name,
    filesMax,
    bytesMax,
  }: {
    readonly commit: string;
    readonly folder: string;
    readonly name: RegExp;
    readonly filesMax: number;
    readonly bytesMax: number;
  },
): Promise<FolderFile[]> {
  const output = await git.run(["ls-tree", "-z", "-l", commit, "--", `${folder}/`], { directory });
  const found: { readonly name: string; readonly id: string; readonly isReadable: boolean }[] = [];
  for (const line of output.toString("utf8").split("\0")) {
    const [, id, size, path = ""] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.*)$/s.exec(line) ?? [];
    const file = path.slice(folder.length + 1);
    if (id === undefined || !name.test(file)) continue;
    if (found.length === filesMax) break;
    found.push({ name: file, id, isReadable: Number(size) <= bytesMax });
  }
  const ids = found.filter(({ isReadable }) => isReadable).map(({ id }) => id);
  const contents = (await readWholeObjects(git, ids, { directory, bytesMax })).values();
  return found.map(({ name: file, isReadable }) => ({
    name: file,
    // The decoder drops a byte order mark, which Windows programs write and which is not part of the text.
    text: isReadable ? new TextDecoder().decode(contents.next().value) : undefined,
  }));
}
