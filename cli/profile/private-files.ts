import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { open, rename, rm, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { toReadFailure } from "./config.ts";

// Synchronous: every command reads two or three files of a few hundred bytes, and starting the thread pool for them
// takes longer than reading them.

/** Returns the text of a file, or undefined when it does not exist. A file that others may read is closed to them first. */
export function readPrivateFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    closeToOthers(file);
    return readFileSync(file, "utf8");
  } catch (error) {
    throw toReadFailure(path, error);
  } finally {
    closeSync(file);
  }
}

/** Removes a file; returns false when it did not exist. */
export function removeFile(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function closeToOthers(file: number): void {
  if ((fstatSync(file).mode & 0o077) === 0) return;
  try {
    fchmodSync(file, 0o600);
  } catch (error) {
    // Another user owns it, or the file system has no modes; reading works anyway.
    if (!["EPERM", "EROFS", "ENOTSUP"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

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
