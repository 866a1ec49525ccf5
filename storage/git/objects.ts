import { type Git, GitError, toGitFailure } from "./git.ts";

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
  /** That of a quarantine whose objects are read as well. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Maximum bytes that are read of one commit, tag or link. People write less, and a list has 50 of them. */
export const OBJECT_BYTES_MAX = 256 * 1024;
/** Maximum bytes that git may write for one list, read or skipped. */
export const OUTPUT_BYTES_MAX = 1024 * 1024 * 1024;

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

/** The beginning of an object. */
export interface ObjectBeginning {
  readonly bytes: Buffer;
  /** Whether the object is longer. */
  readonly isCut: boolean;
}

/**
 * Reads objects by id, in one run of git, in the order of the ids. Meant for commits, tags and links: of each object the
 * first 256 KiB are returned, so that a commit with a huge message does not hide the commits beside it.
 * @throws GitError `too_long` when git writes more than 1 GiB or takes longer than a minute; `failed` when one is missing
 */
export function readBeginnings(
  git: Git,
  ids: readonly string[],
  options: ReadOptions,
): Promise<ObjectBeginning[]> {
  return readUpTo(git, ids, OBJECT_BYTES_MAX, options);
}

/** Reads whole objects as `readBeginnings` does. @throws GitError `too_long` also when one is larger than `bytesMax` */
export async function readWholeObjects(
  git: Git,
  ids: readonly string[],
  { bytesMax, ...options }: ReadOptions & { readonly bytesMax: number },
): Promise<Buffer[]> {
  const objects = await readUpTo(git, ids, bytesMax, options);
  if (objects.some(({ isCut }) => isCut))
    throw new GitError("too_long", `git cat-file: an object has more than ${bytesMax} bytes`);
  return objects.map(({ bytes }) => bytes);
}

async function readUpTo(
  git: Git,
  ids: readonly string[],
  bytesMax: number,
  { directory, signal, env = {} }: ReadOptions,
): Promise<ObjectBeginning[]> {
  if (ids.length === 0) return [];
  signal?.throwIfAborted();
  const input = ids.map((id) => `${id}\n`).join("");
  const child = git.launch(["cat-file", "--batch"], { directory, env, input });
  signal?.addEventListener("abort", child.stop, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.stop();
  }, TIMEOUT_MS);
  const parser = createObjectParser(bytesMax);
  let isRead = false;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) parser.add(chunk);
    isRead = true;
  } finally {
    if (!isRead) child.stop();
    clearTimeout(timer);
    signal?.removeEventListener("abort", child.stop);
  }
  const { exitCode, stderr } = await child.ended;
  signal?.throwIfAborted();
  if (isLate) throw new GitError("too_long", "git cat-file: too much time");
  if (exitCode !== 0 || parser.objects.length !== ids.length)
    throw toGitFailure("git cat-file", { exitCode, stderr });
  return parser.objects;
}

/** Longest line before an object: an id, a type and a size. */
const HEADER_BYTES_MAX = 256;
const TIMEOUT_MS = 60_000;

/** Parses the output of `git cat-file --batch` as it arrives, and keeps the beginning of each object. */
function createObjectParser(bytesMax: number) {
  const objects: ObjectBeginning[] = [];
  let header = "";
  let parts: Buffer[] = [];
  /** Bytes of the object, its line break included, that have not arrived; undefined while the header arrives. */
  let remaining: number | undefined;
  let bytesToKeep = 0;
  let isCut = false;
  let total = 0;

  /** Returns how many bytes of the chunk it has consumed. */
  const readHeader = (chunk: Buffer): number => {
    const end = chunk.indexOf(10);
    header += chunk.toString("latin1", 0, end === -1 ? chunk.byteLength : end);
    if (header.length > HEADER_BYTES_MAX || (end !== -1 && !/ \d+$/.test(header)))
      throw new GitError("failed", `git cat-file: ${header.slice(0, HEADER_BYTES_MAX)}`);
    if (end === -1) return chunk.byteLength;
    const size = Number(header.slice(header.lastIndexOf(" ") + 1));
    [remaining, bytesToKeep, header, parts] = [size + 1, Math.min(size, bytesMax), "", []];
    isCut = size > bytesMax;
    return end + 1;
  };

  return {
    objects,
    add(chunk: Buffer): void {
      total += chunk.byteLength;
      if (total > OUTPUT_BYTES_MAX) throw new GitError("too_long", "git cat-file: too much output");
      let at = 0;
      while (at < chunk.byteLength) {
        if (remaining === undefined) {
          at += readHeader(chunk.subarray(at));
          continue;
        }
        const consumed = Math.min(remaining, chunk.byteLength - at);
        const length = Math.min(bytesToKeep, consumed);
        if (length > 0) parts.push(chunk.subarray(at, at + length));
        bytesToKeep -= length;
        remaining -= consumed;
        at += consumed;
        if (remaining > 0) continue;
        objects.push({ bytes: Buffer.concat(parts), isCut });
        remaining = undefined;
      }
    },
  };
}

/** Reads a blob. @throws GitError `too_long` when it is larger than `bytesMax` */
export async function readBlob(
  git: Git,
  id: string,
  { directory, signal, bytesMax }: ReadOptions & { readonly bytesMax: number },
): Promise<Buffer> {
  return git.run(["cat-file", "blob", id], { directory, signal, outputBytesMax: bytesMax });
}

/** Returns whether a word is the type of an object. */
export function isObjectType(word: string): word is ObjectInfo["type"] {
  return ["commit", "tree", "blob", "tag"].includes(word);
}
