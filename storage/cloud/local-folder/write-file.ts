import { chmod, lstat, rename, unlink } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { ItemOutcome } from "../provider.ts";
import { openBelow, using, type Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { toSegments } from "./paths.ts";
import { publishAnywhere, writeTemporary } from "./transfer.ts";
import type { Looks } from "./versions.ts";

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
  readonly toItem: Looks["toItem"];
  /** Returns whether an id still leads to the open folder. */
  isStillAt(id: string, folder: Folder): Promise<boolean>;
}

/** Writes the bytes first and opens the folder afterwards, so that it is the one that has the path at that moment. */
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

/** Writes the bytes first, compares just before the rename that replaces the file, and keeps its mode. */
export async function replaceFile(
  { root, tmp, newName, toItem, isStillAt }: FileWriter,
  file: NewFile,
  isCurrent: (folder: Folder) => Promise<boolean>,
): Promise<ItemOutcome> {
  const { parent, name } = file;
  const path = await writeTemporary(file, tmp, newName());
  try {
    return await using(openBelow(root, toSegments(parent) ?? []), async (folder) => {
      await folder.verify();
      const { mode } = await lstat(folder.at(name));
      await chmod(path, mode & 0o777);
      if (!(await isCurrent(folder))) return { kind: "stale" };
      await rename(path, folder.at(name));
      await folder.sync();
      if (!(await isStillAt(parent, folder)))
        return { kind: "unknown_outcome", note: "parent_moved" };
      const stats = await lstat(folder.at(name), { bigint: true });
      return { kind: "ok", item: toItem(parent, name, stats) };
    });
  } finally {
    await unless(["ENOENT"], unlink(path));
  }
}
