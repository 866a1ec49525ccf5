import { AppError } from "../../errors.ts";

const reservedNames = new Set([".", "..", "-"]);
const reservedSuffixes = [".wiki", ".git", ".rss", ".atom"];
const LENGTH_MAX = 100;

/** Returns whether a name is valid for a repository. */
export function isRepositoryName(name: string): boolean {
  return findNameFault(name) === undefined;
}

/** Refuses an invalid name with `unprocessable`. Does not check whether the name is taken. */
export function assertRepositoryName(name: string): void {
  const fault = findNameFault(name);
  if (fault !== undefined) throw new AppError("unprocessable", fault);
}

function findNameFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (reservedNames.has(lower)) return `name is reserved [name: ${lower}]`;
  if (!/^[A-Za-z0-9_.-]+$/.test(name) || name.includes("..") || name.length > LENGTH_MAX)
    return `name is invalid [${name}]: must be valid alpha or numeric or dash(-_) or dot characters`;
  const suffix = reservedSuffixes.find((each) => lower.endsWith(each));
  return suffix === undefined ? undefined : `name pattern is not allowed [pattern: *${suffix}]`;
}

/** Returns the path of a repository, relative to the folder of repositories. */
export function toRepositoryPath(ownerName: string, name: string): string {
  return `${ownerName.toLowerCase()}/${name.toLowerCase()}.git`;
}
