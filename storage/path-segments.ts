import { isAbsolute, relative, sep } from "node:path";

/**
 * The names that lead from the folder `root` down to `path`, both absolute; empty when they are the same. Undefined
 * when `path` is not below `root`. Compares names byte for byte and reads no disk.
 */
export function segmentsBelow(root: string, path: string): readonly string[] | undefined {
  const between = relative(root, path);
  if (between === "") return [];
  if (isAbsolute(between) || between === ".." || between.startsWith(`..${sep}`)) return undefined;
  return between.split(sep);
}
