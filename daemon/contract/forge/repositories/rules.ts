/** Whether a name has no other characters than letters, digits, `_`, `-` and `.` (forge behaviour, 1.2). */
export function isAlphaDashDot(name: string): boolean {
  return /^[A-Za-z0-9_.-]+$/.test(name);
}

/** Whether a branch may be called so (forge behaviour, 6.5). */
export function isRefName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the pattern refuses control characters
  if (/[\u0000-\u0020\u007f\\~^:?*[]|\.\.|\/\/|@\{|\/\.|^[/.]|[/.]$|^@$/.test(name)) return false;
  // A leading dash would be taken for a flag by programs that people run with it.
  if (name.startsWith("-") || !name.isWellFormed()) return false;
  return !name.split("/").some((part) => part.endsWith(".lock"));
}
