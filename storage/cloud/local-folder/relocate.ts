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

/** File systems without hard links, or owners who may not make them, say one of these. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/** Where things wait for a moment while nobody else can get at them. */
export interface Staging {
  readonly folder: Folder;
  /** A new name in it; tells whose process it is. */
  readonly newName: () => string;
  /** The id of the item that is moved: what is left here by a crash is put back to it. */
  readonly origin: string;
  /** The id that it is to have: what a crash has left there already is taken away again. */
  readonly destination: string;
}

/** What is noted of an item on its way, as long as that may be half done. */
export interface OnItsWay {
  /** The id that it had. */
  readonly path: string;
  /** The one that it is to have, unless that is another spelling of the first. */
  readonly to?: string;
}

/**
 * Gives an item another name, possibly in another folder, without ever replacing anything: a plain rename would.
 * A file gets its second name first (which fails when the name is taken), and loses its old one after it was seen to be
 * the expected one; at no moment has it none. `staging` holds what must be looked at while nobody can replace it.
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
  const taken = await lstatOf(to);
  if (taken !== undefined) {
    if (!isSame(taken, before) || !isSame(from.folder, to.folder)) return conflict(to);
    if (from.name === to.name) return { kind: "ok", stats: before };
    // Another spelling of the same name where the file system ignores the difference; two hard links otherwise.
    if (before.nlink > 1n && !before.isDirectory()) return conflict(to);
    return respell(from, to, before, staging);
  }
  const way = { path: staging.origin, to: staging.destination };
  return noted(staging, way, (name) =>
    before.isDirectory()
      ? moveFolder(from, to, before)
      : moveFile(from, to, before, { folder: staging.folder, name }),
  );
}

/** Does something with a name of the staging folder, beside which a record lies meanwhile for whoever finds it after a crash. */
async function noted(
  { folder, newName }: Staging,
  way: OnItsWay,
  work: (name: string) => Promise<Relocated>,
): Promise<Relocated> {
  const name = newName();
  const record = folder.at(`${name}.json`);
  const writing = writeFile(record, JSON.stringify(way), { flag: "wx", mode: 0o600 });
  // A full disk is no reason to keep an old name.
  await unless(["ENOSPC", "EDQUOT"], writing);
  try {
    return await work(name);
  } finally {
    await unless(["ENOENT"], unlink(record));
  }
}

/** Publishes a finished file under a name that must be free; the file keeps its first name. */
export async function publish(
  path: string,
  to: Place,
): Promise<{ readonly kind: "ok" } | Failure | "no_links"> {
  const linked = await unless(["EEXIST", ...NO_LINKS], link(path, to.folder.at(to.name)));
  if (linked.ok) return { kind: "ok" };
  return linked.code === "EEXIST" ? conflict(to) : "no_links";
}

/**
 * Where there are no hard links: an empty file claims the name, and the rename replaces only that. Somebody who opens
 * the claim within that moment may write into a file that is gone.
 */
export async function publishByClaim(
  path: string,
  to: Place,
): Promise<{ readonly kind: "ok" } | Failure> {
  const claimed = await unless(["EEXIST"], open(to.folder.at(to.name), "wx"));
  if (!claimed.ok) return conflict(to);
  await claimed.value.close();
  try {
    await rename(path, to.folder.at(to.name));
    return { kind: "ok" };
  } catch (error) {
    await unlink(to.folder.at(to.name));
    throw error;
  }
}

/** Moves a folder onto an own empty one: making that is the claim, and nothing else can be replaced. */
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
    await putBack(to, from, stats);
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
    await putBack(to, from, stats);
    return { kind: "stale" };
  }
  await syncBoth(from, to);
  return { kind: "ok", stats };
}

/**
 * Takes away one name of a file that has another. The name is first moved to `waiting`, where nobody can replace it; if it
 * turns out to be somebody else's file, that is put back. False when the name was gone or somebody else's.
 */
export async function removeOwnName(
  place: Place,
  mine: BigIntStats,
  waiting: Place,
): Promise<boolean> {
  const source = place.folder.at(place.name);
  let hidden = waiting;
  let claimed = await unless(["ENOENT", "EXDEV"], rename(source, hidden.folder.at(hidden.name)));
  if (!claimed.ok && claimed.code === "EXDEV") {
    hidden = waitingBeside(place, waiting.name);
    claimed = await unless(["ENOENT"], rename(source, hidden.folder.at(hidden.name)));
  }
  if (!claimed.ok) return false;
  const path = hidden.folder.at(hidden.name);
  const stats = await lstat(path, { bigint: true });
  if (isSame(stats, mine)) {
    await unlink(path);
    return true;
  }
  await putBack(hidden, place, stats);
  return false;
}

/** Where a name below another mounted file system waits: nothing of it can come to the staging folder. */
export function waitingBeside({ folder }: Place, name: string): Place {
  return { folder, name: `.croft-${name}` };
}

/** Two hops, because the file system takes the two spellings for one name and would change nothing. */
export function respell(
  from: Place,
  to: Place,
  before: BigIntStats,
  staging: Staging,
): Promise<Relocated> {
  return noted(staging, { path: staging.origin }, async (name) => {
    const waiting = { folder: staging.folder, name };
    await rename(from.folder.at(from.name), waiting.folder.at(waiting.name));
    const stats = await lstat(waiting.folder.at(waiting.name), { bigint: true });
    if (!isSame(stats, before)) {
      await putBack(waiting, from, stats);
      return { kind: "stale" };
    }
    if (!(await putBack(waiting, to, stats))) {
      await putBack(waiting, from, stats);
      return conflict(to);
    }
    await syncBoth(from, to);
    return { kind: "ok", stats: await lstat(to.folder.at(to.name), { bigint: true }) };
  });
}

/** Returns something to a name if that is free. Otherwise it stays where it is, whole, and false is the answer. */
export async function putBack(from: Place, to: Place, stats: BigIntStats): Promise<boolean> {
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

/** What has a name, if anything. */
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
