import {
  chmod,
  cp,
  lstat,
  mkdir,
  opendir,
  readdir,
  rename,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "./job-files.ts";

/** Longest path that is used: the system refuses paths of 4,096 bytes, and a job can nest its folders deeper. */
const PATH_BYTES_MAX = 2_000;
/** Files that are removed at the same time. */
const TOGETHER = 64;

/**
 * Removes a folder with everything in it, or an entry of another kind at its path. Makes folders without permissions
 * writable, removes links without following them, and goes on after an entry that cannot be removed. Returns undefined
 * if nothing is left, also for a missing folder; otherwise a path that is left, with the reason. No program that could
 * change the folder may run meanwhile.
 */
export async function removeFolder(path: string): Promise<string | undefined> {
  const top = Buffer.from(path);
  let moves = 0;
  let kept: string | undefined;
  /** Folders whose path was too long, at a shorter one. */
  const nearer: Buffer[] = [];

  await remove(top);
  // The top stays while folders that were moved into it are emptied.
  for (let next = nearer.pop(); next !== undefined; next = nearer.pop()) await remove(next);
  await remove(top);
  return (await isMissing(top)) ? undefined : kept;

  async function remove(at: Buffer, mayBeFolder = true): Promise<boolean> {
    try {
      if (mayBeFolder && (await lstat(at)).isDirectory()) return await removeDirectory(at);
      await unlink(at);
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      // Some file systems do not tell the kinds of their entries.
      if (!mayBeFolder && ["EISDIR", "EPERM"].includes(codeOf(error))) return remove(at);
      kept = `${at.toString()}: ${(error as Error).message}`;
      return false;
    }
  }

  async function removeDirectory(at: Buffer): Promise<boolean> {
    if (at.byteLength > PATH_BYTES_MAX) {
      const shorter = append(top, Buffer.from(`.croft-deep-${(moves += 1)}`));
      await rename(at, shorter);
      nearer.push(shorter);
      return true;
    }
    // A folder of another user may be writable although its mode cannot be changed.
    await chmod(at, 0o700).catch((error: unknown) => {
      if (codeOf(error) !== "EPERM") throw error;
    });
    // Some file systems leave out entries of a folder that shrinks while it is read.
    while (await removeEntries(at));
    await rmdir(at);
    return true;
  }

  /** Removes the entries of a folder. Returns whether another round may remove more. */
  async function removeEntries(folder: Buffer): Promise<boolean> {
    let removed = 0;
    let unlinking: Promise<boolean>[] = [];
    const settle = async () => {
      removed += (await Promise.all(unlinking)).filter(Boolean).length;
      unlinking = [];
    };
    // The names are bytes: a job may use any. Names are read in portions, since there may be millions.
    const encoding = "buffer" as BufferEncoding;
    for await (const entry of await opendir(folder, { encoding, bufferSize: TOGETHER })) {
      const path = append(folder, entry.name as unknown as Buffer);
      if (entry.isDirectory()) removed += (await remove(path)) ? 1 : 0;
      else unlinking.push(remove(path, false));
      if (unlinking.length >= TOGETHER) await settle();
    }
    await settle();
    return removed > 0;
  }
}

async function isMissing(path: Buffer): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    throw error;
  }
}

/**
 * Empties a folder, or creates it in place of a missing one or of an entry of another kind. Returns as `removeFolder`
 * does. No other program may change the folder meanwhile.
 */
export async function emptyFolder(path: string): Promise<string | undefined> {
  const left = await removeFolder(path);
  // The folder itself may stay although it is empty, such as the working directory of a program on Windows.
  await mkdir(path, { recursive: true, mode: 0o700 });
  return left;
}

/** Renames a folder within its own; a missing one is fine. */
export async function renameFolder(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Creates a folder and its missing parents. */
export async function makeFolders(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/**
 * Moves everything in a folder to another one. Folders that both have are merged, except those of git; everything else
 * of the same name is replaced.
 */
export async function moveContents(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    const isMerged = entry.name !== ".git" && entry.isDirectory() && (await isDirectory(target));
    if (isMerged) await moveContents(source, target);
    else {
      await removeFolder(target);
      await move(source, target);
    }
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Returns whether a path leads to a folder, also over links. */
export async function isFolder(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() === true;
}

/** A checkout may be on another file system than the workspace. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

/** Appends a name, which may be no text, to a path. */
function append(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}
