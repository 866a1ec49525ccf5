/**
 * Returns whether the system refused to write because the disk, or the user's quota on it, is full. Errors of the database, of
 * objects and of git say so by the code `full`.
 */
export function isDiskFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOSPC" || code === "EDQUOT" || code === "full";
}

/** Returns whether the process or the system has no file descriptor left. */
export function isOutOfFiles(error: unknown): boolean {
  const code = codeOf(error);
  return code === "EMFILE" || code === "ENFILE";
}

/** Returns whether a path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
