import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file whole or not at all: written beside it, flushed, renamed. The file has mode 0600, a folder that
 * had to be made 0700.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** A file's text, or undefined when there is none. A file that others may read is closed to them first. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { mode } = await file.stat();
      if ((mode & 0o077) !== 0) await chmod(path, 0o600).catch(() => undefined);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Removes a file; false when there was none. */
export async function removeFile(path: string): Promise<boolean> {
  const existed = (await readFile(path).catch(() => undefined)) !== undefined;
  await rm(path, { force: true });
  return existed;
}
