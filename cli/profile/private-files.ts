import { randomUUID } from "node:crypto";
import { open, rename, rm, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file atomically: writes a temporary file, syncs and renames it. The file has mode 0600, created folders
 * 0700.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path));
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

/**
 * Creates a folder of mode 0700 and its missing ancestors. Node's own `recursive` never returns where an existing
 * folder cannot contain another one, as in /proc.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const make = async () => {
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (error) {
      const isThere = codeOf(error) === "EEXIST" && (await stat(path)).isDirectory();
      if (!isThere) throw error;
    }
  };
  try {
    await make();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makePrivateFolder(dirname(path));
    await make();
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
