import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { chmod, lstat, mkdir, readdir, rename, rmdir, unlink, writeFile } from "node:fs/promises";
import type { DeleteOutcome } from "../provider.ts";
import { openBelow, type Folder } from "./anchor.ts";
import { errnoOf, unless } from "./errno.ts";
import { restoreEntry, type Place } from "./relocate.ts";

/** The record beside a trashed item, from which it can be restored by hand. */
export interface TrashRecord {
  readonly path: string;
  readonly deleted_at: string;
}

/**
 * Moves an item to the trash, or removes it permanently. Either way it first moves out of reach of other programs and is
 * verified there: an item that is not the expected one moves back, and the result is `stale`. After a crash, or when
 * something in a folder cannot be removed, the item or the rest of it is in the trash, with its record.
 */
export async function discard(
  from: Place,
  isExpected: (stats: BigIntStats) => boolean,
  trash: Folder,
  id: string,
  record: TrashRecord,
  /** Permanent removal takes place under this name, so that a later start completes what a crash interrupts. */
  removal: string,
  permanently: boolean,
): Promise<DeleteOutcome> {
  await from.folder.verify();
  const before = await lstat(from.folder.at(from.name), { bigint: true });
  if (!isExpected(before)) return { kind: "stale" };
  const bin = await openBin(trash, id, record);
  try {
    const taken = await take(from, { folder: bin, name: from.name }, isExpected);
    if (taken.kind === "ok") {
      await from.folder.sync();
      if (!permanently) return { kind: "ok", how: "trashed" };
      await removeBin(trash, id, removal);
    }
    await forget(trash, id);
    if (taken.kind === "ok") return { kind: "ok", how: "permanent" };
    return taken.kind === "elsewhere" ? await removeInPlace(from, isExpected, id, removal) : taken;
  } catch (error) {
    await forget(trash, id);
    throw error;
  } finally {
    await bin.close();
  }
}

/** Creates a folder for one item, with its record. A full disk leaves neither. */
async function openBin(trash: Folder, id: string, record: TrashRecord): Promise<Folder> {
  try {
    await writeFile(trash.at(`${id}.json`), JSON.stringify(record), { flag: "wx", mode: 0o600 });
    await mkdir(trash.at(id), { mode: 0o700 });
    return await openBelow(trash, [id]);
  } catch (error) {
    await forget(trash, id);
    throw error;
  }
}

async function take(
  from: Place,
  to: Place,
  isExpected: (stats: BigIntStats) => boolean,
): Promise<
  | { readonly kind: "ok"; readonly stats: BigIntStats }
  | { readonly kind: "stale" }
  | { readonly kind: "elsewhere" }
> {
  const moved = await unless(
    ["EXDEV", "ENOENT"],
    rename(from.folder.at(from.name), to.folder.at(to.name)),
  );
  if (!moved.ok) return { kind: moved.code === "EXDEV" ? "elsewhere" : "stale" };
  const stats = await lstat(to.folder.at(to.name), { bigint: true });
  if (isExpected(stats)) return { kind: "ok", stats };
  // If another item has taken the name meanwhile, this item remains in the trash, complete.
  await restoreEntry(to, from, stats);
  return { kind: "stale" };
}

/** Items below another mounted file system cannot move to the trash. */
async function removeInPlace(
  from: Place,
  isExpected: (stats: BigIntStats) => boolean,
  id: string,
  removal: string,
): Promise<DeleteOutcome> {
  const hidden: Place = { folder: from.folder, name: `.croft-${id}` };
  const taken = await take(from, hidden, isExpected);
  if (taken.kind !== "ok") return { kind: "stale" };
  const removalName = `.croft-${removal}`;
  await rename(hidden.folder.at(hidden.name), hidden.folder.at(removalName));
  try {
    await removeTree(hidden.folder, removalName, taken.stats);
  } catch (error) {
    // The rest must not stay under a hidden name.
    await restoreEntry({ folder: hidden.folder, name: removalName }, from, taken.stats);
    throw error;
  }
  await from.folder.sync();
  return { kind: "ok", how: "permanent" };
}

/** Whether a name in the trash is that of a deleted item's folder. */
export function isTrashId(name: string): boolean {
  return /^[\w-]{1,64}$/.test(name) && !name.startsWith("removal-");
}

/**
 * Removes the folder of a deleted item with its contents. It has the name `removal` meanwhile, under which a later start
 * completes the removal; when something in it cannot be removed, it gets its own name again, so that the rest is listed.
 */
export async function removeBin(trash: Folder, id: string, removal: string): Promise<void> {
  await rename(trash.at(id), trash.at(removal));
  try {
    await removeTree(trash, removal, await lstat(trash.at(removal), { bigint: true }));
  } catch (error) {
    await rename(trash.at(removal), trash.at(id));
    throw error;
  }
}

/**
 * Removes a file, or a folder with its contents; removes links without following them. Folders that their owner may not
 * write to, as of Go's module cache, get the permission.
 */
export async function removeTree(folder: Folder, name: string, stats: BigIntStats): Promise<void> {
  if (!stats.isDirectory()) {
    await unlink(folder.at(name));
    return;
  }
  const opened = await unless(["EACCES"], openBelow(folder, [name]));
  if (!opened.ok) await chmod(folder.at(name), OWNER_MAY);
  const inner = opened.ok ? opened.value : await openBelow(folder, [name]);
  try {
    // By the open folder: its name may lead elsewhere by now.
    if ((Number(stats.mode) & OWNER_MAY) !== OWNER_MAY)
      await unless(["EPERM"], chmod(inner.self, OWNER_MAY));
    for (const bytes of await readdir(inner.self, { encoding: "buffer" })) {
      const entry = await spellable(inner, bytes);
      const found = await unless(["ENOENT"], lstat(inner.at(entry), { bigint: true }));
      if (found.ok) await removeTree(inner, entry, found.value);
    }
  } finally {
    await inner.close();
  }
  await rmdir(folder.at(name));
}

/** Its owner may list, change and enter a folder. */
const OWNER_MAY = 0o700;

/** Returns a name of an entry to be removed; one that is not Unicode, which no call could use, is replaced first. */
async function spellable(folder: Folder, bytes: Buffer): Promise<string> {
  const name = bytes.toString();
  if (bytes.equals(Buffer.from(name))) return name;
  const other = `croft-${createHash("sha256").update(bytes).digest("hex")}`;
  const path = Buffer.concat([Buffer.from(`${folder.self}/`), bytes]);
  await unless(["ENOENT"], rename(path, folder.at(other)));
  return other;
}

/** Removes the record and the folder, unless an item had to stay in it. */
export async function forget(trash: Folder, id: string): Promise<void> {
  const removed = await unless(["ENOENT", "ENOTEMPTY", "EEXIST"], rmdir(trash.at(id)));
  if (!removed.ok && removed.code !== "ENOENT") return;
  try {
    await unlink(trash.at(`${id}.json`));
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
