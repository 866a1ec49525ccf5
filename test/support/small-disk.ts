import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux's disk in memory, where a test waits for no disk that syncs; small in containers. */
const MEMORY_DISK = "/dev/shm";
const MEMORY_DISK_BYTES_MIN = 8 * 2 ** 30;

/** Returns the folder of the disk in memory; undefined where it is too small, or where `TMPDIR` names another disk. */
export async function findMemoryDisk(): Promise<string | undefined> {
  if (process.env["TMPDIR"] !== undefined) return undefined;
  const disk = await statfs(MEMORY_DISK).catch(() => undefined);
  return disk !== undefined && disk.bavail * disk.bsize >= MEMORY_DISK_BYTES_MIN
    ? MEMORY_DISK
    : undefined;
}

/** A file system of 64 MiB, or undefined where this user may not mount one. */
export function mountSmallDisk(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "croft-small-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m,mode=700", "none", folder]);
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

export function unmountSmallDisk(folder: string): void {
  execFileSync("umount", ["-l", folder]);
  rmSync(folder, { recursive: true });
}

/** Returns whether this user may mount one. */
export function canMountSmallDisk(): boolean {
  const probe = mountSmallDisk();
  if (probe !== undefined) unmountSmallDisk(probe);
  return probe !== undefined;
}

/** Writes a file until the disk is full, whatever the daemon writes or frees meanwhile. Then leaves `room` bytes. */
export function fillDisk(path: string, room = 0): void {
  let length = 0;
  for (;;) {
    try {
      appendFileSync(path, Buffer.alloc(4_096));
      length += 4_096;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      if (room > 0) truncateSync(path, Math.max(0, length - room));
      return;
    }
  }
}
