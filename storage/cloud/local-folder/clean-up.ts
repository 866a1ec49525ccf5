import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, readFile, rmdir, unlink, writeFile } from "node:fs/promises";
import { parseJsonObject } from "../json.ts";
import type { ProviderDeps } from "../provider.ts";
import { openBelow, type Folder } from "./anchor.ts";
import { toFailure, unless } from "./errno.ts";
import { toPlace } from "./paths.ts";
import {
  lstatOf,
  putBack,
  removeOwnName,
  waitingBeside,
  type OnItsWay,
  type Place,
} from "./relocate.ts";
import { openOwn } from "./root.ts";
import { removeTree } from "./trash.ts";
import { isSame } from "./versions.ts";

type Deps = Pick<ProviderDeps, "newId" | "clock" | "home">;

/** What is temporary in the adapter's own folder, by the first word of its name. */
type Temporary = "upload" | "claim" | "removal";

/** What another daemon has begun is taken for abandoned after this time: nobody here sees whether it runs. */
const FOREIGN_MS = 7 * 86_400_000;
/** A folder that claims a name is made within this time of the record that tells of it. */
const CLAIMED_NS = 5_000_000_000n;

/** A new name of something temporary, which tells whose it is. */
export function toTemporaryName(kind: Temporary, deps: Pick<ProviderDeps, "newId" | "home">) {
  return `${kind}-${deps.home}-${process.pid}-${toRun()}-${deps.newId()}`;
}

/** Tells this run of the process from an earlier one with its number; it stays when the clock is set back. */
function toRun(): string {
  return `t${Math.floor(performance.timeOrigin).toString(36)}`;
}

/**
 * Clears away what processes that are gone have left: half-written uploads, half-removed folders, and items on their way to
 * another name.
 */
export async function cleanUp(root: Folder, deps: Deps): Promise<void> {
  await inOwn(root, "tmp", async (tmp) => {
    for (const { name } of await listAbandoned(tmp, "upload", deps))
      await unless(["ENOENT"], unlink(tmp.at(name)));
  });
  await inOwn(root, "trash", async (trash) => {
    for (const { name, stats } of await listAbandoned(trash, "removal", deps))
      // What could not be removed then may not be removable now.
      await unless(["ENOENT", "EACCES", "EPERM", "ENOTEMPTY"], removeTree(trash, name, stats));
  });
  await inOwn(root, "staging", async (staging) => {
    for (const { name, stats } of await listAbandoned(staging, "claim", deps)) {
      if (!name.endsWith(RECORD)) await recover(root, staging, name, stats, deps);
    }
    // Of those nothing waits here: they have both names, or still the old one.
    for (const { name, stats } of await listAbandoned(staging, "claim", deps)) {
      if (name.endsWith(RECORD)) await undo(root, staging, name, stats);
    }
  });
}

/** The same in a folder on another disk, from which nothing can come to the adapter's own folder. What cannot go stays. */
export async function cleanUpBeside(folder: Folder, deps: Deps): Promise<void> {
  try {
    for (const kind of ["upload", "removal"] as const)
      for (const { name, stats } of await listAbandoned(folder, kind, deps, ".croft-"))
        await unless(["ENOENT"], removeTree(folder, name, stats));
  } catch (error) {
    // A failed system call is no reason not to list the rest; anything else is thrown on.
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

/** A process id may be this process' by now; what it has touched last before it began is not its own. */
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

/** Takes the second name of a file away, or the empty folder that was to take a name: the item stays where it was. */
async function undo(
  root: Folder,
  staging: Folder,
  name: string,
  written: BigIntStats,
): Promise<void> {
  const record = await readRecord(staging, name);
  const destination = record?.to;
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

/** Ends what waited beside `place` when the daemon died: one name of a file that has another, or somebody else's item. */
async function endWaiting(place: Place, other: Place, name: string): Promise<void> {
  const waiting = waitingBeside(place, name);
  const stats = await lstatOf(waiting);
  if (stats === undefined) return;
  const second = await lstatOf(other);
  if (second !== undefined && isSame(second, stats) && !stats.isDirectory())
    await unlink(waiting.folder.at(waiting.name));
  else await putBack(waiting, place, stats);
}

/** Puts an item back to where it was. Where that is not possible it goes to the trash, and is not lost. */
async function recover(
  root: Folder,
  staging: Folder,
  name: string,
  stats: BigIntStats,
  deps: Deps,
): Promise<void> {
  const path = (await readRecord(staging, `${name}${RECORD}`))?.path;
  const from = { folder: staging, name };
  if (!stats.isDirectory() && stats.nlink > 1n) {
    // It has its new name already; this is the old one.
    await unlink(staging.at(name));
  } else if (
    path === undefined ||
    !(await atPlace(root, path, (place) => putBack(from, place, stats)))
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
      await putBack(from, { folder: bin, name: path?.split("/").at(-1) ?? name }, stats).finally(
        () => bin.close(),
      );
    } finally {
      await trash.close();
    }
  }
  await unless(["ENOENT"], unlink(staging.at(`${name}.json`)));
}

/** Does something with the place that an id names; false, too, when its folder is gone. */
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
  // Cut short by the same crash.
  if (typeof path !== "string") return undefined;
  return typeof to === "string" ? { path, to } : { path };
}
