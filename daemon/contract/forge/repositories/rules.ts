/** Returns whether a name consists of letters, digits, `_`, `-` and `.` only. */
export function isAlphaDashDot(name: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(name);
}

/**
 * Returns whether a branch or tag may be created with this name. Git accepts more from a client, but would read
 * these as
 * something else: `HEAD`, full names of refs, and names that look like the id of a commit.
 */
export function isNewRefName(name: string): boolean {
  if (name === "HEAD" || name.startsWith("refs/")) return false;
  return isRefName(name) && !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(name);
}

/** Returns whether this is a valid name of a branch. */
export function isRefName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the pattern refuses control characters
  if (/[\u0000-\u0020\u007f\\~^:?*[]|\.\.|\/\/|@\{|\/\.|^[/.]|[/.]$|^@$/.test(name)) return false;
  // Programs that people run with the name would read a leading dash as a flag.
  if (name.startsWith("-") || !name.isWellFormed()) return false;
  return !name.split("/").some((part) => part.endsWith(".lock"));
}
