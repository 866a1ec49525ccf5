import type { BigIntStats } from "node:fs";
import { chmod, lstat, unlink } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import { openBelow, using, type Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { toSegments } from "./paths.ts";
import {
  lstatOf,
  restoreEntry,
  moveToStaging,
  withRecord,
  type Place,
  type Staging,
} from "./relocate.ts";
import { publishAnywhere, writeTemporary } from "./transfer.ts";
import type { ItemReader } from "./versions.ts";

/** A file to write. */
interface NewFile {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly signal: AbortSignal;
}

/** Where files are written. */
export interface FileWriter {
  readonly root: Folder;
  readonly tmp: Folder;
  /** Returns a temporary name. */
  newName(): string;
  readonly toItem: ItemReader["toItem"];
  /** Returns whether an id still leads to the open folder. */
  isStillAt(id: string, folder: Folder): Promise<boolean>;
}

/**
 * Writes the bytes first and opens the folder afterwards, so that the file goes to the folder that has the path then.
 */
export async function createFile(
  { root, tmp, newName, toItem, isStillAt }: FileWriter,
  file: NewFile,
): Promise<ItemOutcome> {
  const { parent, name } = file;
  const path = await writeTemporary(file, tmp, newName());
  try {
    return await using(openBelow(root, toSegments(parent) ?? []), async (folder) => {
      const published = await publishAnywhere(path, { folder, name }, newName());
      if (published.kind !== "ok") return published;
      await folder.sync();
      // Removing the second name changes the file's change time, which is part of the version.
      await unless(["ENOENT"], unlink(path));
      const stats = await lstat(folder.at(name), { bigint: true });
      if (!(await isStillAt(parent, folder))) {
        await unlink(folder.at(name));
        return { kind: "stale", note: "parent_moved" };
      }
      return { kind: "ok", item: toItem(parent, name, stats) };
    });
  } finally {
    await unless(["ENOENT"], unlink(path));
  }
}

/** Where the replaced file is kept until the new one has its name. */
export interface Superseding {
  readonly staging: Staging;
  isExpected(stats: BigIntStats): boolean;
  /** Moves a version that another program has replaced at the same moment to the trash. */
  trash(from: Place): Promise<void>;
}

/**
 * Replaces a file and keeps its mode. Writes the bytes first. Then moves the earlier file out of reach of other programs, where
 * it is compared, and links the new one under the name, which fails if another program has created a file there. So a change
 * by another program is never overwritten; the name is free for a moment, and recovery restores the file after a crash.
 */
export async function replaceFile(
  { root, tmp, newName, toItem, isStillAt }: FileWriter,
  file: NewFile,
  { staging, isExpected, trash }: Superseding,
): Promise<ItemOutcome> {
  const { parent, name } = file;
  const inFolder = <T>(work: (folder: Folder) => Promise<T>) =>
    using(openBelow(root, toSegments(parent) ?? []), work);
  // Avoids a useless large upload.
  const isThere = await inFolder(async (folder) =>
    isExpected(await lstat(folder.at(name), { bigint: true })),
  );
  if (!isThere) return { kind: "stale" };
  const path = await writeTemporary(file, tmp, newName());
  try {
    return await inFolder(async (folder) => {
      await folder.verify();
      const place = { folder, name };
      const before = await lstat(folder.at(name), { bigint: true });
      if (!isExpected(before)) return { kind: "stale" };
      await chmod(path, Number(before.mode) & 0o777);
      return withRecord(staging, { path: staging.origin }, async (waitingName) => {
        const waiting = await moveToStaging(place, { folder: staging.folder, name: waitingName });
        if (waiting === undefined) return { kind: "stale" };
        const replacedStats = await lstatOf(waiting);
        if (replacedStats === undefined)
          return { kind: "unknown_outcome", note: "gone_from_staging" };
        const restore = async (failure: Failure): Promise<Failure> => {
          if (!(await restoreEntry(waiting, place, replacedStats))) await trash(waiting);
          return failure;
        };
        if (!isExpected(replacedStats)) return restore({ kind: "stale" });
        try {
          const published = await publishAnywhere(path, place, newName());
          if (published.kind !== "ok") return await restore({ kind: "stale", note: "name_taken" });
        } catch (error) {
          await restore({ kind: "stale" });
          throw error;
        }
        await folder.sync();
        await unlink(waiting.folder.at(waiting.name));
        await unless(["ENOENT"], unlink(path));
        if (!(await isStillAt(parent, folder)))
          return { kind: "unknown_outcome", note: "parent_moved" };
        const stats = await lstat(folder.at(name), { bigint: true });
        return { kind: "ok", item: toItem(parent, name, stats) };
      });
    });
  } finally {
    await unless(["ENOENT"], unlink(path));
  }
}
