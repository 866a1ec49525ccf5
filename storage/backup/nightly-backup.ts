import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { copyTime } from "../engine/rotating-backup.ts";
import { syncFolder } from "../sync.ts";
import { HEAD_BYTES, isBackupOf } from "./contents.ts";
import { type BackupOptions, type BackupSummary, writeBackup } from "./write-backup.ts";

export interface NightlyBackupOptions extends Omit<BackupOptions, "target" | "write" | "flush"> {
  /** The folder of the backups; it is created. Other files in it stay untouched. */
  readonly folder: string;
  /** Eight hex digits that distinguish the home from others with the same folder. */
  readonly home: string;
  /** The number of backups to keep, this one included. */
  readonly count: number;
  readonly signal: AbortSignal;
  /** Receives what the written backup holds and lacks. */
  readonly onWritten: (summary: BackupSummary) => void;
}

/** The name of a backup, with the mark of its home; those of earlier versions have none. */
const NAME = /^croft-home-(\d{8}-\d{6})(?:-([0-9a-f]{8}))?\.tar$/;
/** Maximum duration of a backup of an earlier version: an older incomplete file belongs to none that runs. */
const ABANDONED_MS = 48 * 3_600_000;

/**
 * Writes a backup of the home to `croft-home-YYYYMMDD-HHMMSS-<home>.tar` (UTC) and deletes the oldest ones beyond `count`,
 * but only files with the content of a backup, and none of another home. The backup appears under its name when it is complete; a crash leaves
 * a `.partial` file, which the next run deletes. Deletes nothing when the backup fails. Returns the path. @throws
 * StorageError
 */
export async function writeNightlyBackup(options: NightlyBackupOptions): Promise<string> {
  const { folder, home, count, signal, now, onWritten } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.endsWith(PARTIAL) && isAbandoned(name.slice(0, -PARTIAL.length), home, now))
      await rm(join(folder, name), { force: true });
  const path = join(folder, `croft-home-${copyTime(now)}-${home}.tar`);
  const file = await open(path + PARTIAL, "wx", 0o600);
  try {
    const summary = await writeBackup({
      ...options,
      target: folder,
      write: async (chunk) => {
        signal.throwIfAborted();
        await file.writeFile(chunk);
      },
      flush: () => file.datasync(),
    });
    await file.sync();
    onWritten(summary);
  } catch (error) {
    await file.close();
    await rm(path + PARTIAL, { force: true });
    throw error;
  }
  await file.close();
  await rename(path + PARTIAL, path);
  await syncFolder(folder);
  // Keeps the new backup even when the clock was set back and older backups have later names.
  const others = (await readdir(folder))
    .filter((name) => name !== basename(path) && isOf(home, name))
    .toSorted();
  for (const old of others.slice(0, Math.max(0, others.length + 1 - count)))
    if (await isBackup(join(folder, old))) await rm(join(folder, old), { force: true });
  return path;
}

/** Returns whether a name is that of a backup of a home, or of an earlier version, which may be any home's. */
function isOf(home: string, name: string): boolean {
  const match = NAME.exec(name);
  return match !== null && (match[2] ?? home) === home;
}

/** Returns whether an incomplete file is left from a crash. Another home may be writing its own. */
function isAbandoned(name: string, home: string, now: number): boolean {
  const match = NAME.exec(name);
  if (match === null) return false;
  return match[2] === undefined
    ? (match[1] ?? "") < copyTime(now - ABANDONED_MS)
    : match[2] === home;
}

/** Returns whether a file is a backup by its content; only then may it be deleted. */
async function isBackup(path: string): Promise<boolean> {
  const [, date = "", clock = ""] = /(\d{8})-(\d{6})(?:-\w{8})?\.tar$/.exec(path) ?? [];
  const [day, time] = [date.replace(/^(....)(..)/, "$1-$2-"), clock.replace(/^(..)(..)/, "$1:$2:")];
  const file = await open(path);
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await file.read(head, 0, HEAD_BYTES, 0);
    return isBackupOf(head.subarray(0, bytesRead), Date.parse(`${day}T${time}Z`));
  } finally {
    await file.close();
  }
}

const PARTIAL = ".partial";
