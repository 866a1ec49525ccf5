import { FOUND_FILES_MAX } from "../../contract/forge/code/browsing.ts";
import type { ComputeFunction } from "../compute.ts";

interface PathSearch {
  /** Each ends with a zero byte: one text is handed to a thread a hundred times as fast as a list of its paths. */
  readonly paths: string;
  /** Words in any letter case; all paths are found without one. */
  readonly text: string;
}

interface FoundPaths {
  /** Those with the first word in the name first, then the shorter ones; at most `FOUND_FILES_MAX`. */
  readonly files: readonly string[];
  /** Number of all that were found. */
  readonly total: number;
}

/** Finds the paths that contain every word. */
export const searchPaths: ComputeFunction<PathSearch, FoundPaths> = {
  name: "searchPaths",
  cost: ({ paths, text }) => paths.length * (wordsOf(text).length + 1),
  length: ({ paths, text }) => paths.length + text.length,
  run: ({ paths, text }) => {
    const words = wordsOf(text);
    const all = paths.split("\0");
    all.pop();
    if (words.length === 0) return { files: all.slice(0, FOUND_FILES_MAX), total: all.length };
    const [first = ""] = words;
    const found = all.flatMap((path) => {
      const lower = path.toLowerCase();
      if (!words.every((word) => lower.includes(word))) return [];
      return [{ path, isNamed: lower.slice(lower.lastIndexOf("/") + 1).includes(first) }];
    });
    const files = found
      .toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed) || a.path.length - b.path.length)
      .slice(0, FOUND_FILES_MAX)
      .map(({ path }) => path);
    return { files, total: found.length };
  },
};

/** A word that is repeated would be sought in each path as often. */
function wordsOf(text: string): readonly string[] {
  return [...new Set(text.toLowerCase().split(/\s+/))].filter((word) => word !== "");
}
