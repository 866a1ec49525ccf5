import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../sync.ts";

/** Replaces a file of mode 0600 atomically and durably, because losing a key in a power cut would lose all data. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  const file = await open(fresh, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
  await syncFolder(dirname(path));
}

/** Returns the text of a file; undefined when it is missing. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return undefined;
    }
    throw error;
  }
}
