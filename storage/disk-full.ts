/** Whether the system refused to write because the disk, or the user's share of it, is full. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
