import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createOwner } from "../../../storage/owner.ts";

/** The end of the name of a file that tells why another was not taken in. */
const REASON = ".error.txt";

/** Names that programs give to files that they have not finished, and those of files that are no documents. */
const UNFINISHED =
  /^[.~]|~$|\.(?:part|partial|crdownload|download|filepart|tmp|temp|swp|!ut)$|^(?:desktop\.ini|thumbs\.db|lost\+found)$/i;

/** Files of one folder that are looked at together; the rest waits. */
const FILES_MAX = 1_000;

/** A file of the folder that may be taken in. */
export interface SeenFile {
  readonly name: string;
  readonly path: string;
  readonly stats: BigIntStats;
}

/** Returns whether two looks at a name saw the same file with the same bytes. */
export function isUnchanged(before: BigIntStats, now: BigIntStats): boolean {
  return (
    before.dev === now.dev &&
    before.ino === now.ino &&
    before.size === now.size &&
    before.mtimeNs === now.mtimeNs
  );
}

/**
 * Makes the folder of an account if it is missing. Returns the reason why it is not used: a link or another file is in its
 * place, or it is older than the account, so that its files may be those of an earlier account of this name.
 */
export async function openInbox(path: string, accountSince: number): Promise<string | undefined> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    // The name of a file, or of a link that leads nowhere.
    if (!hasCode(error, "EEXIST")) throw error;
  });
  const stats = await lstat(path);
  if (!stats.isDirectory()) return "it is not a folder";
  const isOlder = stats.birthtimeMs > 0 && stats.birthtimeMs + CLOCK_TOLERANCE_MS < accountSince;
  return made === undefined && isOlder ? "it is older than the account" : undefined;
}

/** How far the clock of a file system may be behind the database's. */
const CLOCK_TOLERANCE_MS = 1_000;

/**
 * Lists the files of a folder: those that are finished by their names, and are neither links, special files, folders, nor
 * files that have a second name elsewhere.
 */
export async function listInbox(folder: string): Promise<SeenFile[]> {
  const names = new Set(await readdir(folder));
  const seen: SeenFile[] = [];
  for (const name of names) {
    if (seen.length >= FILES_MAX) break;
    if (UNFINISHED.test(name) || name.endsWith(REASON)) continue;
    const path = join(folder, name);
    const stats = await statOf(path);
    if (stats === undefined || !stats.isFile() || stats.nlink !== 1n) continue;
    if (names.has(name + REASON) && (await isRefused(path, stats))) continue;
    seen.push({ name, path, stats });
  }
  return seen;
}

/** A file that was refused. */
export interface RefusedFile extends SeenFile {
  readonly reason: string;
}

/** Lists the files that were refused and have not changed since, with the reasons, by name. */
export async function listRefused(folder: string): Promise<RefusedFile[]> {
  const names = new Set(await readdir(folder));
  const refused: RefusedFile[] = [];
  for (const name of [...names].sort()) {
    if (refused.length >= FILES_MAX) break;
    if (!names.has(name + REASON)) continue;
    const path = join(folder, name);
    const stats = await statOf(path);
    if (stats === undefined || !stats.isFile() || !(await isRefused(path, stats))) continue;
    refused.push({ name, path, stats, reason: await readReason(path) });
  }
  return refused;
}

/** Longest reason that is shown, in bytes. */
const REASON_BYTES_MAX = 1_000;

/** Reads the reason beside a file. Programs that may write into the folder may have put a link in its place. */
async function readReason(path: string): Promise<string> {
  const place = path + REASON;
  const stats = await statOf(place);
  if (stats === undefined || !stats.isFile() || stats.nlink !== 1n) return UNKNOWN_REASON;
  await using handle = await openSeen({ name: place, path: place, stats });
  if (handle === undefined) return UNKNOWN_REASON;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(REASON_BYTES_MAX));
  return buffer.toString("utf8", 0, bytesRead).trim() || UNKNOWN_REASON;
}

const UNKNOWN_REASON = "unknown";

/** Returns whether the reason beside a file is about the file as it is: a changed one is tried again. */
async function isRefused(path: string, file: BigIntStats): Promise<boolean> {
  const reason = await statOf(path + REASON);
  // The time of the last write may be any, also one in the future; that of the last change is the system's.
  return reason !== undefined && reason.ctimeNs >= file.ctimeNs;
}

/** Returns the state of a name, without following a link; undefined when it is gone. */
export async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Opens a file that was seen. Undefined when something else has its name by now. */
export async function openSeen({ path, stats }: SeenFile): Promise<FileHandle | undefined> {
  await using owner = createOwner();
  let handle;
  try {
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    handle = owner.own(await open(path, flags));
  } catch (error) {
    if (isMissing(error) || hasCode(error, "ELOOP")) return undefined;
    throw error;
  }
  return isUnchanged(stats, await handle.stat({ bigint: true }))
    ? owner.handOver(handle)
    : undefined;
}

/** Returns the SHA-256 of an open file. */
export async function hashOf(handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false }))
    hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Deletes the reason beside a refused file, so that the next look tries it again. */
export const forgetReason = ({ path }: SeenFile): Promise<void> => removeReason(path);

/** Deletes a file unless another has its name by now, and the reason beside it. Returns whether it is gone. */
export async function removeSeen({ path, stats }: SeenFile): Promise<boolean> {
  const now = await statOf(path);
  if (now !== undefined) {
    if (!isUnchanged(stats, now)) return false;
    await unlink(path);
  }
  await removeReason(path);
  return true;
}

/** Writes the reason beside a file, and follows no link that has the name. */
export async function writeReason({ path }: SeenFile, reason: string): Promise<void> {
  await removeReason(path);
  await using file = await open(path + REASON, "wx", 0o600);
  await file.writeFile(`${reason}\n`);
}

async function removeReason(path: string): Promise<void> {
  await unlink(path + REASON).catch((error: unknown) => {
    // No reason can stand beside a name of the greatest length.
    if (!isMissing(error) && !hasCode(error, "ENAMETOOLONG")) throw error;
  });
}

const isMissing = (error: unknown) => hasCode(error, "ENOENT");

const hasCode = (error: unknown, code: string) => (error as NodeJS.ErrnoException).code === code;
