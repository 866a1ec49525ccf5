import type { BigIntStats } from "node:fs";
import { link, lstat, mkdir, open, rename, rmdir, unlink, writeFile } from "node:fs/promises";
import type { Failure } from "../outcomes.ts";
import type { Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { isSame } from "./versions.ts";

/** A name in an open folder. */
export interface Place {
  readonly folder: Folder;
  readonly name: string;
}

export type Relocated = { readonly kind: "ok"; readonly stats: BigIntStats } | Failure;

/** Errors of file systems without hard links, and of users who may not create them. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** A folder where items wait during an operation, out of reach of other programs. */
export interface Staging {
  readonly folder: Folder;
  /** Returns a new temporary name that identifies its process. */
  readonly newName: () => string;
  /** The id of the item that is moved: recovery after a crash restores it from here. */
  readonly origin: string;
  /** The id that it moves to: recovery removes a second name there. */
  readonly destination: string;
}

/** The record of a move, kept while it may be unfinished. */
export interface OnItsWay {
  /** The id before the move. */
  readonly path: string;
  /** The id after the move, unless that is another spelling of the first. */
  readonly to?: string;
}

/**
 * Renames an item, possibly into another folder, without ever overwriting: a plain rename would overwrite.
 * A file gets its second name first (which fails when the name is taken), and loses its old one once it is verified to be
 * the expected one; it always has a name. `staging` holds entries for verification, where no other program replaces them.
 */
export async function relocate(
  from: Place,
  to: Place,
  isExpected: (stats: BigIntStats) => boolean,
  staging: Staging,
): Promise<Relocated> {
  await from.folder.verify();
  await to.folder.verify();
  const before = await lstatOf(from);
  if (before === undefined || !isExpected(before)) return { kind: "stale" };
  const existing = await lstatOf(to);
  if (existing !== undefined) {
    if (!isSame(existing, before) || !isSame(from.folder, to.folder)) return conflict(to);
    if (from.name === to.name) return { kind: "ok", stats: before };
    // Another spelling of the same name where the file system ignores the difference; otherwise two hard links.
    if (before.nlink > 1n && !before.isDirectory()) return conflict(to);
    return respell(from, to, before, staging);
  }
  const move = { path: staging.origin, to: staging.destination };
  return withRecord(staging, move, (name) =>
    before.isDirectory()
      ? moveFolder(from, to, before)
      : moveFile(from, to, before, { folder: staging.folder, name }),
  );
}

/** Runs `work` with a name in the staging folder. While it runs, a record beside the name allows recovery after a crash. */
export async function withRecord<T>(
  { folder, newName }: Pick<Staging, "folder" | "newName">,
  move: OnItsWay,
  work: (name: string) => Promise<T>,
): Promise<T> {
  const name = newName();
  const record = folder.at(`${name}.json`);
  const writing = writeFile(record, JSON.stringify(move), { flag: "wx", mode: 0o600 });
  // A full disk must not keep an old name in place.
  await unless(["ENOSPC", "EDQUOT"], writing);
  try {
    return await work(name);
  } finally {
    await unless(["ENOENT"], unlink(record));
  }
}

/** Publishes a finished file under a free name; the file keeps its first name. */
export async function publish(
  path: string,
  to: Place,
): Promise<{ readonly kind: "ok" } | Failure | "no_links"> {
  const linked = await unless(["EEXIST", ...NO_LINKS], link(path, to.folder.at(to.name)));
  if (linked.ok) return { kind: "ok" };
  return linked.code === "EEXIST" ? conflict(to) : "no_links";
}

/**
 * The fallback without hard links: creates an empty placeholder file, and the rename replaces only that. A program that opens
 * the placeholder in between may write into a removed file.
 */
export async function publishByClaim(
  path: string,
  to: Place,
): Promise<{ readonly kind: "ok" } | Failure> {
  const claimed = await unless(["EEXIST"], open(to.folder.at(to.name), "wx"));
  if (!claimed.ok) return conflict(to);
  try {
    await claimed.value.close();
    await rename(path, to.folder.at(to.name));
    return { kind: "ok" };
  } catch (error) {
    await unlink(to.folder.at(to.name));
    throw error;
  }
}

/**
 * Moves a folder onto an empty placeholder folder: creating the placeholder reserves the name, so nothing else can be
 * overwritten.
 */
async function moveFolder(from: Place, to: Place, before: BigIntStats): Promise<Relocated> {
  const target = to.folder.at(to.name);
  const claimed = await unless(["EEXIST"], mkdir(target));
  if (!claimed.ok) return conflict(to);
  try {
    const moved = await unless(
      ["EINVAL", "ENOTEMPTY", "EEXIST"],
      rename(from.folder.at(from.name), target),
    );
    if (!moved.ok) {
      await unless(["ENOENT", "ENOTEMPTY", "EEXIST"], rmdir(target));
      return moved.code === "EINVAL"
        ? { kind: "invalid_destination", reason: "descendant_destination" }
        : conflict(to);
    }
  } catch (error) {
    await unless(["ENOENT", "ENOTEMPTY", "EEXIST"], rmdir(target));
    throw error;
  }
  const stats = await lstat(target, { bigint: true });
  if (!isSame(stats, before)) {
    await restoreEntry(to, from, stats);
    return { kind: "stale" };
  }
  await syncBoth(from, to);
  return { kind: "ok", stats };
}

async function moveFile(
  from: Place,
  to: Place,
  before: BigIntStats,
  waiting: Place,
): Promise<Relocated> {
  const published = await publish(from.folder.at(from.name), to);
  if (published === "no_links") return claimAndRename(from, to, before);
  if (published.kind !== "ok") return published;
  const stats = await lstat(to.folder.at(to.name), { bigint: true });
  const isStill =
    isSame(stats, before) && stats.size === before.size && stats.mtimeNs === before.mtimeNs;
  if (!isStill || !(await removeOwnName(from, before, waiting))) {
    await removeOwnName(to, stats, waiting);
    return { kind: "stale" };
  }
  await syncBoth(from, to);
  return { kind: "ok", stats: await lstat(to.folder.at(to.name), { bigint: true }) };
}

async function claimAndRename(from: Place, to: Place, before: BigIntStats): Promise<Relocated> {
  const moved = await publishByClaim(from.folder.at(from.name), to);
  if (moved.kind !== "ok") return moved;
  const stats = await lstat(to.folder.at(to.name), { bigint: true });
  if (!isSame(stats, before)) {
    await restoreEntry(to, from, stats);
    return { kind: "stale" };
  }
  await syncBoth(from, to);
  return { kind: "ok", stats };
}

/**
 * Removes one name of a file that has another. The name first moves to `waiting`, out of reach of other programs; if it
 * belongs to another file, it moves back. Returns false when the name did not exist or belonged to another file.
 */
export async function removeOwnName(
  place: Place,
  movedStats: BigIntStats,
  waiting: Place,
): Promise<boolean> {
  const hidden = await moveToStaging(place, waiting);
  if (hidden === undefined) return false;
  const path = hidden.folder.at(hidden.name);
  const stats = await lstat(path, { bigint: true });
  if (isSame(stats, movedStats)) {
    await unlink(path);
    return true;
  }
  await restoreEntry(hidden, place, stats);
  return false;
}

/**
 * Moves an entry to `waiting`, or beside itself if `waiting` is on another file system, and returns its new place.
 * Undefined: the name was free.
 */
export async function moveToStaging(place: Place, waiting: Place): Promise<Place | undefined> {
  const source = place.folder.at(place.name);
  const renamed = await unless(
    ["ENOENT", "EXDEV"],
    rename(source, waiting.folder.at(waiting.name)),
  );
  if (renamed.ok) return waiting;
  if (renamed.code === "ENOENT") return undefined;
  const beside = stagingBeside(place, waiting.name);
  return (await unless(["ENOENT"], rename(source, beside.folder.at(beside.name)))).ok
    ? beside
    : undefined;
}

/** The staging folder for names below another mounted file system, which cannot move to the common one. */
export function stagingBeside({ folder }: Place, name: string): Place {
  return { folder, name: `.croft-${name}` };
}

/** Renames in two steps, because the file system treats the two spellings as one name and would change nothing. */
export function respell(
  from: Place,
  to: Place,
  before: BigIntStats,
  staging: Staging,
): Promise<Relocated> {
  return withRecord(staging, { path: staging.origin }, async (name) => {
    const waiting = { folder: staging.folder, name };
    await rename(from.folder.at(from.name), waiting.folder.at(waiting.name));
    const stats = await lstat(waiting.folder.at(waiting.name), { bigint: true });
    if (!isSame(stats, before)) {
      await restoreEntry(waiting, from, stats);
      return { kind: "stale" };
    }
    if (!(await restoreEntry(waiting, to, stats))) {
      await restoreEntry(waiting, from, stats);
      return conflict(to);
    }
    await syncBoth(from, to);
    return { kind: "ok", stats: await lstat(to.folder.at(to.name), { bigint: true }) };
  });
}

/** Restores an entry to a name if that is free. Otherwise the entry stays where it is, and the result is false. */
export async function restoreEntry(from: Place, to: Place, stats: BigIntStats): Promise<boolean> {
  const source = from.folder.at(from.name);
  const target = to.folder.at(to.name);
  if (stats.isDirectory()) {
    if (!(await unless(["EEXIST"], mkdir(target))).ok) return false;
    return (await unless(["ENOTEMPTY", "EEXIST"], rename(source, target))).ok;
  }
  const published = await publish(source, to);
  if (published === "no_links") return (await publishByClaim(source, to)).kind === "ok";
  if (published.kind !== "ok") return false;
  await unlink(source);
  return true;
}

/** Returns the entry of a name, if any. */
export async function lstatOf(place: Place): Promise<BigIntStats | undefined> {
  const found = await unless(["ENOENT"], lstat(place.folder.at(place.name), { bigint: true }));
  return found.ok ? found.value : undefined;
}

async function syncBoth(from: Place, to: Place): Promise<void> {
  await to.folder.sync();
  if (!isSame(from.folder, to.folder)) await from.folder.sync();
}

function conflict(to: Place): Failure {
  return { kind: "conflict", existingName: to.name };
}
