import type { ImportProgress } from "../../../storage/tables/forge/repositories/imports.ts";

/** What an import brings besides branches and tags, in the order in which it does. */
export const importParts = [
  "large_files",
  "labels",
  "milestones",
  "releases",
  "issues",
  "pulls",
  "comments",
  "reviews",
] as const;
export type ImportPart = (typeof importParts)[number];

/** The kind of the jobs of imports. */
export const IMPORT_KIND = "forge.imports";

/** Returns the progress of an import that has not begun. */
export function newProgress(parts: readonly ImportPart[]): ImportProgress {
  return {
    part: parts[0] ?? "",
    page: 1,
    imported: {},
    totals: {},
    skipped: {},
    fileBytes: 0,
    pageBytes: 0,
    leftOut: [],
    forkFiles: 0,
    pauses: 0,
    allPauses: 0,
  };
}
