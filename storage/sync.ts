import { open } from "node:fs/promises";

/** Waits until the bytes of a file are on its disk. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Syncs a folder: waits until creations, renames and deletions in it are on disk. The contents of its files are not
 * synced.
 */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open folders.
  if (process.platform === "win32") return;
  try {
    await syncFile(path);
  } catch (error) {
    // Some network file systems refuse to sync a folder; the change is then as durable as they make it.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EINVAL" && code !== "EPERM") throw error;
  }
}
