import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { glob, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";

/** Maximum number of files that one call reads. */
const FILES_MAX = 100_000;

/**
 * Returns the SHA-256 of the files below `root` that match patterns, as 64 hexadecimal digits: the hash of the hashes of
 * the files, ordered by path. A pattern with `!` in front excludes. Without a match the result is empty. Files outside of
 * `root` are ignored, also when links lead to them.
 */
export async function hashFiles(root: string, patterns: readonly string[]): Promise<string> {
  const lines = patterns.flatMap((each) => each.split("\n")).map((each) => each.trim());
  const wanted = lines.filter((each) => each !== "" && !/^[!#]/.test(each));
  const excluded = lines.filter((each) => each.startsWith("!")).map((each) => each.slice(1));
  const home = await realpath(root);
  const paths = new Set<string>();
  for (const pattern of wanted.map(toRelative))
    for await (const path of glob(pattern, { cwd: home, exclude: excluded.map(toRelative) })) {
      paths.add(path);
      if (paths.size > FILES_MAX) throw new Error(`hashFiles: more than ${FILES_MAX} files match`);
    }
  const whole = createHash("sha256");
  let count = 0;
  for (const path of [...paths].toSorted()) {
    const target = await realpath(join(home, path));
    const way = relative(home, target);
    const isOutside = way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
    if (isOutside || !(await stat(target)).isFile()) continue;
    const one = createHash("sha256");
    await pipeline(createReadStream(target), one);
    whole.update(one.digest());
    count += 1;
  }
  return count === 0 ? "" : whole.digest("hex");

  /** Patterns are written from the workspace on, with or without its path. */
  function toRelative(pattern: string): string {
    return isAbsolute(pattern) ? relative(root, pattern) : pattern.replace(/^\.\//, "");
  }
}
