import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makePrivateFolder } from "./make-private-folder.ts";

/**
 * Replaces a file whole or not at all: written beside it, flushed, renamed. The file has mode 0600, a folder that
 * had to be made 0700.
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
