import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, readFile, rmdir, unlink, writeFile } from "node:fs/promises";
import { parseJsonObject } from "../json.ts";
import type { ProviderDeps } from "../provider.ts";
import { openBelow, type Folder } from "./anchor.ts";
import { toFailure, unless } from "./errno.ts";
import { toPlace } from "./paths.ts";
import {
  lstatOf,
  restoreEntry,
  removeOwnName,
  stagingBeside,
  type OnItsWay,
  type Place,
} from "./relocate.ts";
import { openOwn } from "./root.ts";
import { isTrashId, removeTree } from "./trash.ts";
import { isSame } from "./versions.ts";

type Deps = Pick<ProviderDeps, "newId" | "clock" | "home">;

/** The kinds of temporary entries in the adapter's own folder, by the first word of their names. */
type Temporary = "upload" | "claim" | "removal";

/** An entry of another daemon counts as abandoned after this time: this host cannot see whether that daemon still runs. */
const FOREIGN_MS = 7 * 86_400_000;
/** A placeholder folder is created within this time after its record. */
const CLAIMED_NS = 5_000_000_000n;

/** Returns a new temporary name that identifies its process. */
export function toTemporaryName(kind: Temporary, deps: Pick<ProviderDeps, "newId" | "home">) {
  return `${kind}-${deps.home}-${process.pid}-${toRun()}-${deps.newId()}`;
}

/** Distinguishes this run from an earlier process with the same id, even after the clock is set back. */
function toRun(): string {
  return `t${Math.floor(performance.timeOrigin).toString(36)}`;
}

/**
 * Recovers after processes that died: removes half-written uploads and half-removed folders, and returns items in the middle
 * of a rename to their old name.
 */
export async function cleanUp(root: Folder, deps: Deps): Promise<void> {
  await inOwn(root, "tmp", async (tmp) => {
    for (const { name } of await listAbandoned(tmp, "upload", deps))
      await unless(["ENOENT"], unlink(tmp.at(name)));
  });
  await inOwn(root, "trash", async (trash) => {
    for (const { name, stats } of await listAbandoned(trash, "removal", deps))
      // An entry that could not be removed earlier may still not be removable.
      await unless(["ENOENT", "EACCES", "EPERM", "ENOTEMPTY"], removeTree(trash, name, stats));
    await recordBins(trash, deps);
  });
  await inOwn(root, "staging", async (staging) => {
    for (const { name, stats } of await listAbandoned(staging, "claim", deps)) {
      if (!name.endsWith(RECORD)) await recover(root, staging, name, stats, deps);
    }
    // Renamed files are not in this folder: they have both names, or still the old one.
    for (const { name, stats } of await listAbandoned(staging, "claim", deps)) {
      if (name.endsWith(RECORD)) await undo(root, staging, name, stats);
    }
  });
}

/**
 * Lists deleted items that a crash left without a record. The record is written before the folder of an item and removed
 * after it, so no running deletion has a folder without one.
 */
async function recordBins(trash: Folder, { clock }: Deps): Promise<void> {
  const names = await readdir(trash.self);
  const recorded = new Set(names);
  for (const id of names.filter((name) => isTrashId(name) && !recorded.has(name + RECORD))) {
    const bin = await unless(["ENOENT", "ENOTDIR", "ELOOP"], openBelow(trash, [id]));
    if (!bin.ok) continue;
    const [name] = await readdir(bin.value.self).finally(() => bin.value.close());
    if (name === undefined) continue;
    const record = { path: name, deleted_at: new Date(clock()).toISOString() };
    await unless(
      ["EEXIST"],
      writeFile(trash.at(id + RECORD), JSON.stringify(record), { flag: "wx", mode: 0o600 }),
    );
  }
}

/** Recovers a folder on another disk, where items cannot move to the adapter's own folder. Irremovable entries stay. */
export async function cleanUpBeside(folder: Folder, deps: Deps): Promise<void> {
  try {
    for (const kind of ["upload", "removal"] as const)
      for (const { name, stats } of await listAbandoned(folder, kind, deps, ".croft-"))
        await unless(["ENOENT"], removeTree(folder, name, stats));
  } catch (error) {
    // After a failed system call the rest is still listed; other errors are bugs and rethrown.
    toFailure(error);
  }
}

const RECORD = ".json";

interface Abandoned {
  readonly name: string;
  readonly stats: BigIntStats;
}

async function inOwn(
  root: Folder,
  kind: "tmp" | "trash" | "staging",
  work: (folder: Folder) => Promise<void>,
): Promise<void> {
  const folder = await openOwn(root, kind);
  try {
    await work(folder);
  } finally {
    await folder.close();
  }
}

async function listAbandoned(
  folder: Folder,
  kind: Temporary,
  deps: Deps,
  prefix: "" | ".croft-" = "",
): Promise<Abandoned[]> {
  const found: Abandoned[] = [];
  for (const name of await readdir(folder.self)) {
    if (!name.startsWith(prefix)) continue;
    const unprefixed = name.slice(prefix.length);
    const [, home, pid, run] =
      new RegExp(`^${kind}-([a-z0-9]+)-(\\d+)-(t[a-z0-9]+(?=-))?`).exec(unprefixed) ?? [];
    if (home === undefined) continue;
    const stats = await unless(["ENOENT"], lstat(folder.at(name), { bigint: true }));
    if (!stats.ok) continue;
    const isAbandoned =
      home === deps.home
        ? isOver(Number(pid), run, stats.value)
        : deps.clock() - Number(stats.value.ctimeNs / 1_000_000n) > FOREIGN_MS;
    if (isAbandoned) found.push({ name, stats: stats.value });
  }
  return found;
}

/**
 * This process may have got the id of an earlier one. Entries that were last changed before its start belong to the
 * earlier process.
 */
function isOver(pid: number, run: string | undefined, stats: BigIntStats): boolean {
  if (pid === process.pid && run !== undefined) return run !== toRun();
  if (pid === process.pid) return Number(stats.ctimeNs / 1_000_000n) < performance.timeOrigin;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** Removes the second name of a file, or the empty placeholder folder of a rename: the item keeps its old name. */
async function undo(
  root: Folder,
  staging: Folder,
  name: string,
  written: BigIntStats,
): Promise<void> {
  const record = await readRecord(staging, name);
  const destination = record?.to;
  if (record !== undefined && destination === undefined)
    // A file on another disk waits beside its name while it is replaced.
    await atPlace(root, record.path, async (place) => {
      await endWaiting(place, place, name.slice(0, -RECORD.length));
      return true;
    });
  if (record !== undefined && destination !== undefined)
    await atPlace(root, record.path, (from) =>
      atPlace(root, destination, async (to) => {
        const waiting = { folder: staging, name: name.slice(0, -RECORD.length) };
        await endWaiting(from, to, waiting.name);
        await endWaiting(to, from, waiting.name);
        const [before, after] = [await lstatOf(from), await lstatOf(to)];
        if (before === undefined || after === undefined) return false;
        if (!before.isDirectory() && before.nlink > 1n && isSame(before, after))
          return removeOwnName(to, after, waiting);
        const isClaim =
          before.isDirectory() &&
          after.isDirectory() &&
          !isSame(before, after) &&
          after.birthtimeNs >= written.mtimeNs &&
          after.ctimeNs - written.mtimeNs < CLAIMED_NS;
        if (!isClaim) return false;
        return (await unless(["ENOTEMPTY", "EEXIST"], rmdir(to.folder.at(to.name)))).ok;
      }),
    );
  await unless(["ENOENT"], unlink(staging.at(name)));
}

/** Recovers an entry that waited beside `place` when the daemon died: a second name of a file, or another program's item. */
async function endWaiting(place: Place, other: Place, name: string): Promise<void> {
  const waiting = stagingBeside(place, name);
  const stats = await lstatOf(waiting);
  if (stats === undefined) return;
  const second = await lstatOf(other);
  if (second !== undefined && isSame(second, stats) && !stats.isDirectory())
    await unlink(waiting.folder.at(waiting.name));
  else await restoreEntry(waiting, place, stats);
}

/** Restores an item to its old path. If that is impossible, moves it to the trash, so that it is not lost. */
async function recover(
  root: Folder,
  staging: Folder,
  name: string,
  stats: BigIntStats,
  deps: Deps,
): Promise<void> {
  const record = await readRecord(staging, `${name}${RECORD}`);
  const path = record?.path;
  const from = { folder: staging, name };
  if (!stats.isDirectory() && stats.nlink > 1n && (await isSecondName(root, record, stats))) {
    await unlink(staging.at(name));
  } else if (
    path === undefined ||
    !(await atPlace(root, path, (place) => restoreEntry(from, place, stats)))
  ) {
    const trash = await openOwn(root, "trash");
    const id = deps.newId();
    try {
      const deletedAt = new Date(deps.clock()).toISOString();
      await writeFile(
        trash.at(`${id}.json`),
        JSON.stringify({ path: path ?? name, deleted_at: deletedAt }),
      );
      await mkdir(trash.at(id), { mode: 0o700 });
      const bin = await openBelow(trash, [id]);
      await restoreEntry(
        from,
        { folder: bin, name: path?.split("/").at(-1) ?? name },
        stats,
      ).finally(() => bin.close());
    } finally {
      await trash.close();
    }
  }
  await unless(["ENOENT"], unlink(staging.at(`${name}.json`)));
}

/**
 * Whether the item of a claim still has one of the names in its record. A link that another program made is not one of them:
 * the item must not lose its own name for it.
 */
async function isSecondName(
  root: Folder,
  record: OnItsWay | undefined,
  stats: BigIntStats,
): Promise<boolean> {
  // Without a record, the name that the item has is not known; its bytes have another one.
  if (record === undefined) return true;
  for (const path of [record.path, record.to ?? record.path]) {
    const isThere = await atPlace(root, path, async (place) => {
      const found = await lstatOf(place);
      return found !== undefined && isSame(found, stats);
    });
    if (isThere) return true;
  }
  return false;
}

/** Runs an operation on the path of an id. Also returns false when its parent folder is missing. */
async function atPlace(
  root: Folder,
  path: string,
  work: (place: Place) => Promise<boolean>,
): Promise<boolean> {
  const place = toPlace(path);
  if (place === undefined) return false;
  const folder = await unless(["ENOENT", "ENOTDIR", "ELOOP"], openBelow(root, place.parent));
  if (!folder.ok) return false;
  try {
    return await work({ folder: folder.value, name: place.name });
  } finally {
    await folder.value.close();
  }
}

async function readRecord(staging: Folder, name: string): Promise<OnItsWay | undefined> {
  const text = await unless(["ENOENT"], readFile(staging.at(name), "utf8"));
  const { path, to } = (text.ok ? parseJsonObject(text.value) : undefined) ?? {};
  // The same crash truncated the record.
  if (typeof path !== "string") return undefined;
  return typeof to === "string" ? { path, to } : { path };
}
