import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { copyTime } from "../engine/rotating-backup.ts";
import { syncFolder } from "../sync.ts";
import { HEAD_BYTES, isBackupOf } from "./contents.ts";
import { type BackupOptions, type BackupSummary, writeBackup } from "./write-backup.ts";

export interface NightlyBackupOptions extends Omit<BackupOptions, "target" | "write" | "flush"> {
  /** The folder of the backups; it is created. Other files in it stay untouched. */
  readonly folder: string;
  /** The number of backups to keep, this one included. */
  readonly count: number;
  readonly signal: AbortSignal;
  /** Receives what the written backup holds and lacks. */
  readonly onWritten: (summary: BackupSummary) => void;
}

const NAME = /^croft-home-\d{8}-\d{6}\.tar$/;

/**
 * Writes a backup of the home to `croft-home-YYYYMMDD-HHMMSS.tar` (UTC) and deletes the oldest ones beyond `count`,
 * but only files with the content of a backup. The backup appears under its name when it is complete; a crash leaves
 * a `.partial` file, which the next run deletes. Deletes nothing when the backup fails. Returns the path. @throws
 * StorageError
 */
export async function writeNightlyBackup(options: NightlyBackupOptions): Promise<string> {
  const { folder, count, signal, now, onWritten } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder))
    if (name.endsWith(PARTIAL) && NAME.test(name.slice(0, -PARTIAL.length)))
      await rm(join(folder, name), { force: true });
  const path = join(folder, `croft-home-${copyTime(now)}.tar`);
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
    .filter((name) => NAME.test(name) && name !== basename(path))
    .toSorted();
  for (const old of others.slice(0, Math.max(0, others.length + 1 - count)))
    if (await isBackup(join(folder, old))) await rm(join(folder, old), { force: true });
  return path;
}

/** Returns whether a file is a backup by its content; only then may it be deleted. */
async function isBackup(path: string): Promise<boolean> {
  const [, date = "", clock = ""] = /(\d{8})-(\d{6})\.tar$/.exec(path) ?? [];
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
