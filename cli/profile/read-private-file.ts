import { open, rm } from "node:fs/promises";

/** A file's text, or undefined when there is none. A file that others may read is closed to them first. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { mode } = await file.stat();
      // Where it belongs to somebody else it can still be read.
      if ((mode & 0o077) !== 0) await file.chmod(0o600).catch(() => undefined);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Removes a file; false when there was none. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await rm(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
