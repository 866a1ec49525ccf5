import { createHash } from "node:crypto";
import { createReadStream, type Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ExpressionError } from "../../../daemon/forge/actions/workflows/expressions/values.ts";
import { compileFilter } from "../../../daemon/forge/actions/workflows/filter-patterns.ts";
import { isWithin } from "../places/host-place.ts";

/** Maximum number of files that one call reads. */
const FILES_MAX = 100_000;

/**
 * Returns the SHA-256 of the files below `root` that match patterns, as 64 hexadecimal digits: the hash of the hashes of
 * the files, ordered by path. As with the public runner, a pattern also matches everything below a folder that it matches,
 * hidden files count, and a pattern with `!` in front excludes what earlier patterns matched. Without a match the result is
 * empty. Links to folders are followed where a pattern names them, and files outside of `root` are ignored.
 * @param patternRoot the path of the root in patterns
 * @throws ExpressionError
 */
export async function hashFiles(
  root: string,
  patterns: readonly string[],
  patternRoot = root,
): Promise<string> {
  const globs = patterns
    .flatMap((each) => each.split("\n"))
    .map((each) => each.trim())
    .filter((each) => each !== "" && !each.startsWith("#"))
    .map((each) => toGlob(patternRoot, each));
  const matches = compileFilter(globs.flatMap(toFilters));
  if (matches === undefined) throw new ExpressionError("hashFiles: a pattern is invalid");
  const home = await realpath(root);
  const paths = new Set<string>();
  for (const { isExcluded, text } of globs)
    if (!isExcluded)
      for await (const path of listFiles(home, toFixedFolder(text)))
        if (matches(path)) {
          paths.add(path);
          if (paths.size > FILES_MAX)
            throw new ExpressionError(`hashFiles: more than ${FILES_MAX} files match`);
        }
  const whole = createHash("sha256");
  let count = 0;
  for (const path of [...paths].toSorted()) {
    const target = await findFile(home, path);
    if (target === undefined) continue;
    const one = createHash("sha256");
    await pipeline(createReadStream(target), one);
    whole.update(one.digest());
    count += 1;
  }
  return count === 0 ? "" : whole.digest("hex");
}

/** Returns the real path of a file within the root; undefined for anything else, such as a broken link. */
async function findFile(root: string, path: string): Promise<string | undefined> {
  try {
    const target = await realpath(join(root, path));
    return isWithin(root, target) && (await stat(target)).isFile() ? target : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A pattern from the root on, with slashes and without one at its end. */
interface Glob {
  readonly isExcluded: boolean;
  readonly text: string;
}

/** Patterns are written from the workspace on, with or without its path. */
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

/** Returns the folders of a glob in front of its first sign. */
function toFixedFolder(text: string): string {
  const parts = text.split("/");
  const first = parts.findIndex((part) => /[*?[\\]/.test(part));
  return parts.slice(0, first === -1 ? undefined : first).join("/");
}

/** Lists the files below a path of the root, or the file at this path. Empty for a path that leaves the root. */
async function* listFiles(root: string, path: string): AsyncGenerator<string> {
  if (path.split("/").includes("..")) return;
  let entries: Dirent[];
  try {
    entries = await readdir(join(root, path), { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") yield path;
    else if (code !== "ENOENT" && code !== "EACCES") throw error;
    return;
  }
  for (const entry of entries) {
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(root, inner);
    else yield inner;
  }
}
