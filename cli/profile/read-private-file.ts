import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { toReadFailure } from "./config-file.ts";

// Synchronous: every command reads two or three files of a few hundred bytes, and starting the thread pool for them
// takes longer than reading them. Writing is in private-files.ts, because loading the modules that it needs costs every
// command 5 ms.

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
