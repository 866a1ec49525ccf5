import { type Git, GitError } from "./git.ts";

/** An object of a repository. */
export interface ObjectInfo {
  readonly id: string;
  readonly type: "commit" | "tree" | "blob" | "tag";
  /** In bytes. */
  readonly size: number;
}

/** Where to read objects. */
export interface ReadOptions {
  readonly directory: string;
  /** Stops git when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const OBJECTS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Looks objects up by name, in one run of git: ids, refs, and expressions of both such as `main^{commit}` or `main:path`.
 * A result is undefined for a name without an object. The names must not contain NUL. @throws GitError
 */
export async function findObjects(
  git: Git,
  names: readonly string[],
  { directory, signal }: ReadOptions,
): Promise<(ObjectInfo | undefined)[]> {
  const output = await git.run(["cat-file", "--batch-check", "-z"], {
    directory,
    signal,
    input: names.map((name) => `${name}\0`).join(""),
  });
  let at = 0;
  return names.map((name) => {
    // A missing object is reported by its name, which may have line breaks.
    for (const word of ["missing", "ambiguous"]) {
      const line = Buffer.from(`${name} ${word}\n`);
      if (!output.subarray(at, at + line.byteLength).equals(line)) continue;
      at += line.byteLength;
      return undefined;
    }
    const end = output.indexOf(10, at);
    const [id = "", type = "", size = ""] = output.toString("utf8", at, end).split(" ");
    at = end + 1;
    return isObjectType(type) ? { id, type, size: Number(size) } : undefined;
  });
}

/**
 * Reads objects by id, in one run of git, in the order of the ids. Meant for commits and tags, which are small.
 * @throws GitError `too_long` when all of them are larger than 32 MiB; `failed` when one is missing
 */
export async function readObjects(
  git: Git,
  ids: readonly string[],
  { directory, signal }: ReadOptions,
): Promise<Buffer[]> {
  if (ids.length === 0) return [];
  const output = await git.run(["cat-file", "--batch"], {
    directory,
    signal,
    input: ids.map((id) => `${id}\n`).join(""),
    outputBytesMax: OBJECTS_BYTES_MAX,
  });
  let at = 0;
  return ids.map((id) => {
    const end = output.indexOf(10, at);
    const [, type = "", size = ""] = output.toString("utf8", at, end).split(" ");
    if (end === -1 || !isObjectType(type))
      throw new GitError("failed", `git cat-file did not find ${id}`);
    const start = end + 1;
    at = start + Number(size) + 1;
    return output.subarray(start, start + Number(size));
  });
}

/** Reads a blob. @throws GitError `too_long` when it is larger than `bytesMax` */
export async function readBlob(
  git: Git,
  id: string,
  { directory, signal, bytesMax }: ReadOptions & { readonly bytesMax: number },
): Promise<Buffer> {
  return git.run(["cat-file", "blob", id], { directory, signal, outputBytesMax: bytesMax });
}

function isObjectType(word: string): word is ObjectInfo["type"] {
  return ["commit", "tree", "blob", "tag"].includes(word);
}
