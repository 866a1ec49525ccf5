import type { Git } from "./git.ts";

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
  const files: FolderFile[] = [];
  for (const line of output.toString("utf8").split("\0")) {
    const [, id, size, path = ""] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t(.*)$/s.exec(line) ?? [];
    const file = path.slice(folder.length + 1);
    if (id === undefined || !name.test(file)) continue;
    if (files.length === filesMax) break;
    const isReadable = Number(size) <= bytesMax;
    const content = isReadable ? await git.run(["cat-file", "blob", id], { directory }) : undefined;
    // The decoder drops a byte order mark, which Windows programs write and which is not part of the text.
    files.push({ name: file, text: content && new TextDecoder().decode(content) });
  }
  return files;
}
