import { lstat, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { System } from "../system.ts";
import { partSuffix, toPartPath } from "./file-names.ts";

export type PartSystem = Pick<System, "pid" | "random" | "isProcessAlive" | "clock">;

/** Returns a mark that names this process as the only writer of a part file. */
export function toOwnerMark({ pid, random }: Pick<PartSystem, "pid" | "random">): string {
  return `~${pid}_${Buffer.from(random(4)).toString("hex")}`;
}

/** The end of a part's name that cannot be resumed: its process, or what version 0.1.0 wrote instead. */
const UNTAGGED_END = new RegExp(`\\.(~(?:(\\d{1,10})_[0-9a-f]{8}|[0-9a-f]{16}))\\${partSuffix}$`);
/** How long a part without a process is left alone. */
const UNOWNED_MS = 24 * 3_600_000;

/** Finds part files of earlier runs. Each folder is read once, on first use. */
export function createPartFolders() {
  const folders = new Map<string, Promise<readonly string[]>>();
  const read = (folder: string) => {
    const reading = folders.get(folder) ?? readParts(folder);
    folders.set(folder, reading);
    return reading;
  };
  return {
    /** Returns the names of the part files in a folder. */
    read,
    /** Removes the parts of a target that killed processes have left and that no run can resume. */
    async sweep(path: string, system: PartSystem): Promise<void> {
      const folder = dirname(path);
      for (const name of await read(folder)) {
        const [, mark, owner] = UNTAGGED_END.exec(name) ?? [];
        const part = join(folder, name);
        if (mark === undefined || !isPartOf(part, path)) continue;
        // Another process may be writing to it at this moment.
        if (owner !== undefined && system.isProcessAlive(Number(owner))) continue;
        const found = await lstat(part).catch(() => undefined);
        if (found?.isFile() !== true) continue;
        if (owner === undefined && system.clock() - found.mtimeMs < UNOWNED_MS) continue;
        await rm(part, { force: true });
      }
    },
  };
}

export type PartFolders = ReturnType<typeof createPartFolders>;

/** Returns whether a file is a part of `path`, or a part of such a part: an archive that is to be extracted is one. */
function isPartOf(part: string, path: string): boolean {
  const [end, mark] = UNTAGGED_END.exec(part) ?? [];
  if (end === undefined || mark === undefined) return false;
  return part === toPartPath(path, mark) || isPartOf(part.slice(0, -end.length), path);
}

async function readParts(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // The command that writes there says what is wrong with the folder.
    if (["ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(error.code ?? "")) return [];
    throw error;
  });
  return names.filter((name) => name.endsWith(partSuffix));
}
