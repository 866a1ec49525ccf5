// The files that a rule of a branch protects, and those that everybody who may write may change in spite of it.
import type { BranchProtectionSettings } from "../../../storage/tables/forge/repositories/branch-protections.ts";
import type { Compute } from "../compute.ts";
import { matchInBatches } from "./name-patterns.ts";

/** Returns whether one of the paths matches a pattern of the files that nobody may change. */
export async function matchesProtectedFiles(
  compute: Compute,
  settings: Pick<BranchProtectionSettings, "texts">,
  paths: readonly string[],
  account: string,
): Promise<boolean> {
  return (await findProtectedFile(compute, settings, paths, account)) !== undefined;
}

/** Returns the first of the paths that matches a pattern of the files that nobody may change. */
export async function findProtectedFile(
  compute: Compute,
  { texts }: Pick<BranchProtectionSettings, "texts">,
  paths: readonly string[],
  account: string,
): Promise<string | undefined> {
  const patterns = toFilePatterns(texts["protected_file_patterns"]);
  if (patterns.length === 0) return undefined;
  const matches = await matchInBatches(compute, { kind: "files", patterns, names: paths }, account);
  return paths.find((_, at) => (matches[at]?.length ?? 0) > 0);
}

/** Returns whether each of the paths matches a pattern of the files that a push may change in spite of the rule. */
export async function areUnprotectedFiles(
  compute: Compute,
  { texts }: Pick<BranchProtectionSettings, "texts">,
  paths: readonly string[],
  account: string,
): Promise<boolean> {
  const patterns = toFilePatterns(texts["unprotected_file_patterns"]);
  if (patterns.length === 0 || paths.length === 0) return false;
  const matches = await matchInBatches(compute, { kind: "files", patterns, names: paths }, account);
  return matches.every(({ length }) => length > 0);
}

/** Splits the patterns of files, which semicolons separate. */
export function toFilePatterns(text = ""): readonly string[] {
  return text
    .split(";")
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
}
