import { createHash, type Hash } from "node:crypto";
import { isAbsolute, join, relative, sep } from "node:path";
import { ExpressionError } from "../../../daemon/workflows/expressions/values.ts";
import { compileFilter } from "../../../daemon/workflows/filter-patterns.ts";
import {
  findRealPath,
  JobFileError,
  listJobFolder,
  openJobFile,
  readChunks,
} from "../files/job-files.ts";

/** Maximum number of files that one call reads. */
const FILES_MAX = 100_000;
/** Maximum number of files and folders that one call looks at. */
const ENTRIES_MAX = 1_000_000;

export interface HashOptions {
  /** The path of the root in patterns; the root itself when absent. */
  readonly patternRoot?: string;
  /** Ends the work. A job may fill its workspace with files that take hours to read. */
  readonly signal?: AbortSignal;
}

/**
 * Returns the SHA-256 of the files below `root` that match patterns, as 64 hexadecimal digits: the hash of the hashes of
 * the files, ordered by path. As with the public runner, a pattern also matches everything below a folder that it matches,
 * hidden files count, and a pattern with `!` in front excludes what earlier patterns matched. Without a match the result is
 * empty. Links to folders are followed where a pattern names them, and files outside of `root` are ignored.
 * @throws ExpressionError
 */
export async function hashFiles(
  root: string,
  patterns: readonly string[],
  { patternRoot = root, signal }: HashOptions = {},
): Promise<string> {
  const globs = patterns
    .flatMap((each) => each.split("\n"))
    .map((each) => each.trim())
    .filter((each) => each !== "" && !each.startsWith("#"))
    .map((each) => toGlob(patternRoot, each));
  const matches = compileFilter(globs.flatMap(toFilters));
  if (matches === undefined) throw new ExpressionError("hashFiles: a pattern is invalid");
  const home = await findRealPath(root, root);
  // A job may have removed its workspace.
  if (home === undefined) return "";
  const work: Work = { root: home, signal, entries: 0 };
  const paths = new Set<string>();
  for (const { isExcluded, text } of globs)
    if (!isExcluded)
      for await (const path of listFiles(work, toFixedFolder(text)))
        if (matches(path)) {
          paths.add(path);
          if (paths.size > FILES_MAX)
            throw new ExpressionError(`hashFiles: more than ${FILES_MAX} files match`);
        }
  const whole = createHash("sha256");
  let count = 0;
  for (const path of [...paths].toSorted()) {
    const one = createHash("sha256");
    if (!(await addFile(work, path, one))) continue;
    whole.update(one.digest());
    count += 1;
  }
  return count === 0 ? "" : whole.digest("hex");
}

/** One call of `hashFiles`. */
interface Work {
  readonly root: string;
  readonly signal: AbortSignal | undefined;
  /** Entries of folders that were looked at. */
  entries: number;
}

function assertNotAborted({ signal }: Work): void {
  if (signal?.aborted === true)
    throw new ExpressionError("hashFiles: the files took too long to be read");
}

/** Adds a file of the root, or one to which a link leads. Returns false for anything else, such as a broken link. */
async function addFile(work: Work, path: string, hash: Hash): Promise<boolean> {
  const target = await findRealPath(work.root, join(work.root, path));
  if (target === undefined) return false;
  try {
    await using file = await openJobFile(work.root, target);
    if (file === undefined) return false;
    for await (const chunk of readChunks(file)) {
      assertNotAborted(work);
      hash.update(chunk);
    }
    return true;
  } catch (error) {
    if (!(error instanceof JobFileError)) throw error;
    // A pipe or a device has no content to hash, and what is a file one moment is a link the next.
    if (error.isNoFile) return false;
    throw new ExpressionError(`hashFiles: ${path}: ${error.message}`);
  }
}

/** A pattern relative to the root, with slashes between its segments and none at its end. */
interface Glob {
  readonly isExcluded: boolean;
  readonly text: string;
}

/** A pattern is relative to the workspace, or begins with the path of the workspace. */
function toGlob(root: string, pattern: string): Glob {
  const isExcluded = pattern.startsWith("!");
  const text = isExcluded ? pattern.slice(1).trim() : pattern;
  const own = isAbsolute(text) ? relative(root, text) : text;
  return {
    isExcluded,
    text: own
      .replaceAll(sep, "/")
      .replace(/^(?:\.\/)+/, "")
      .replace(/\/+$/, ""),
  };
}

/** Any character of a name, where `?` in a filter makes the character before it optional. */
const ANY_CHARACTER = "[\u0001-.0-\uffff]";

/** Returns the filters of a glob: the path itself and everything below it. */
function toFilters({ isExcluded, text }: Glob): readonly string[] {
  const sign = isExcluded ? "!" : "";
  if (text === "" || text === ".") return [`${sign}**`];
  const filter = text.replaceAll("+", "\\+").replaceAll("?", ANY_CHARACTER);
  return [`${sign}${filter}`, `${sign}${filter}/**`];
}

/** Returns the leading folders of a glob, up to the first with a wildcard. */
function toFixedFolder(text: string): string {
  const parts = text.split("/");
  const first = parts.findIndex((part) => /[*?[\\]/.test(part));
  return parts.slice(0, first === -1 ? undefined : first).join("/");
}

/** Lists the files below a path of the root, or the file at this path. Empty for a path that leaves the root. */
async function* listFiles(work: Work, path: string): AsyncGenerator<string> {
  if (path.split("/").includes("..")) return;
  const folder = await findRealPath(work.root, join(work.root, path));
  if (folder === undefined) return;
  // The pattern may name a file. Any other kind is skipped when it is opened.
  yield path;
  yield* listBelow(work, folder, path);
}

async function* listBelow(work: Work, folder: string, path: string): AsyncGenerator<string> {
  for await (const entry of listJobFolder(work.root, folder)) {
    assertNotAborted(work);
    work.entries += 1;
    if (work.entries > ENTRIES_MAX)
      throw new ExpressionError(`hashFiles: there are more than ${ENTRIES_MAX} files`);
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* listBelow(work, join(folder, entry.name), inner);
    else yield inner;
  }
}
