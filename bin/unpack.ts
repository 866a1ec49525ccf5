import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** The files that the executable carries. */
export interface Runtime {
  /** Names this exact set of files; two executables with the same id may share them on disk. */
  readonly id: string;
  /** Path below the runtime's folder (forward slashes) and size in bytes. */
  readonly files: readonly (readonly [path: string, size: number])[];
  readonly read: (path: string) => Uint8Array;
}

/** The process, as far as it decides where the files go. */
export interface UnpackEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The arguments of the command line. */
  readonly words: readonly string[];
  readonly platform: NodeJS.Platform;
  /** Undefined for a user whom the system does not know, as in many containers. */
  readonly homeFolder: string | undefined;
  readonly temporaryFolder: string;
  /** Undefined where the platform has no user ids; owner and mode then say nothing. */
  readonly userId: number | undefined;
}

const runtimePrefix = "runtime-";
const unfinishedPrefix = ".unpacking-";

/** Runtimes of other versions that are kept: one of them may still be running, and a downgrade stays quick. */
const otherRuntimesMax = 3;

/** The modification time of unpacked files; a later write changes it. An even second because of FAT. */
const unpackedAt = new Date("2000-01-01T00:00:00Z");

/** An unpacking takes well under a second; one that is an hour old is not running. */
const unpackingMsMax = 3_600_000;

/**
 * Returns a folder that holds exactly the runtime's files and that only this user can write: the one of an earlier start in
 * the cache folder, or a newly unpacked one. Concurrent processes may do this. Uses a folder below the system's temporary
 * folder when the cache folder cannot be written or belongs to another user.
 * Throws when neither works; the message says why.
 */
export function unpackRuntime(runtime: Runtime, environment: UnpackEnvironment): string {
  const { env, userId, temporaryFolder } = environment;
  const shared = join(temporaryFolder, userId === undefined ? "croft" : `croft-${userId}`);
  const problems: string[] = [];
  for (const parent of [homeCacheFolder(environment), cacheFolder(environment), shared]) {
    if (parent === undefined) continue;
    try {
      return unpackBelow(parent, runtime, userId);
    } catch (error) {
      problems.push(`${parent}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const advice = env["CROFT_CACHE_DIR"] ? "" : "; set CROFT_CACHE_DIR to a folder of yours";
  throw new Error(`its files cannot be unpacked (${problems.join("; ")})${advice}`);
}

/**
 * Checks, whenever `every` calls, whether `folder` still holds the unpacked files, and restores missing ones: a daemon runs
 * for months and loads many files on demand, while people and timers empty caches and temporary folders. A file that cannot
 * be restored is retried the next time.
 */
export function keepUnpacked(
  folder: string,
  runtime: Runtime,
  userId: number | undefined,
  every: (look: () => void) => void,
): void {
  every(() => {
    try {
      unpackBelow(dirname(folder), runtime, userId);
    } catch {
      // Not awaited: the code that needs a missing file reports it.
    }
  });
}

/**
 * The cache folder of a home that `--home` or `CROFT_HOME` names: all that belongs to it lies inside, and a removed home
 * leaves nothing. Undefined without such a home, where `CROFT_CACHE_DIR` names another folder, and below a folder that does
 * not exist, which the command refuses.
 */
export function homeCacheFolder({
  env,
  words,
  homeFolder,
}: Pick<UnpackEnvironment, "env" | "words" | "homeFolder">): string | undefined {
  const end = words.indexOf("--");
  const flags = end === -1 ? words : words.slice(0, end);
  const at = flags.findLastIndex((word) => word === "--home" || word.startsWith("--home="));
  const flag = flags[at] === "--home" ? flags[at + 1] : flags[at]?.slice("--home=".length);
  const named = flag || env["CROFT_HOME"];
  if (!named || env["CROFT_CACHE_DIR"]) return undefined;
  const home = /^~(?=$|[/\\])/.test(named)
    ? join(homeFolder ?? "", named.slice(1))
    : resolve(named);
  return existsSync(dirname(home)) ? join(home, "state", "cache") : undefined;
}

/** `CROFT_CACHE_DIR`, else croft's folder among the platform's caches; undefined when that is in an unknown home. */
export function cacheFolder({ env, platform, homeFolder }: UnpackEnvironment): string | undefined {
  if (env["CROFT_CACHE_DIR"]) return env["CROFT_CACHE_DIR"];
  const named = platform === "win32" ? env["LOCALAPPDATA"] : env["XDG_CACHE_HOME"];
  // The XDG specification says that relative values are invalid and to be ignored.
  if (named !== undefined && isAbsolute(named)) return join(named, "croft");
  if (homeFolder === undefined) return undefined;
  if (platform === "darwin") return join(homeFolder, "Library", "Caches", "croft");
  if (platform !== "win32") return join(homeFolder, ".cache", "croft");
  return join(homeFolder, "AppData", "Local", "croft");
}

function unpackBelow(path: string, runtime: Runtime, userId: number | undefined): string {
  assertOwned(nearestFolder(path), userId);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  // From here on a changed link has no effect.
  const parent = realpathSync(path);
  const folder = join(parent, `${runtimePrefix}${runtime.id}`);
  if (isComplete(folder, runtime) && assertPrivate(folder, userId)) return folder;
  assertUnreplaceable(parent, userId);
  const fresh = mkdtempSync(join(parent, unfinishedPrefix));
  try {
    writeFiles(fresh, runtime);
    moveIntoPlace(fresh, folder, runtime);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  assertPrivate(folder, userId);
  removeOldRuntimes(parent, folder);
  return folder;
}

/**
 * Compares sizes, which reveal files that a crash or a cleaner left missing or empty, and times, which reveal later writes.
 * Addons can do more harm and are compared byte by byte when they are loaded: see addons.ts.
 */
function isComplete(folder: string, { files }: Runtime): boolean {
  return files.every(([path, size]) => {
    const stats = statSync(join(folder, path), { throwIfNoEntry: false });
    return stats?.size === size && stats.mtimeMs === unpackedAt.getTime();
  });
}

/**
 * Code is loaded from this folder: it must belong to this user, must not be a link, and must not be accessible to
 * other users.
 */
function assertPrivate(folder: string, userId: number | undefined): true {
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw new Error(`${folder} is not a folder`);
  if (userId === undefined) return true;
  if (stats.uid !== userId) throw new Error(`${folder} belongs to user ${stats.uid}`);
  if ((stats.mode & 0o077) !== 0) throw new Error(`${folder} is open to other users`);
  assertUnreplaceable(dirname(folder), userId);
  return true;
}

/** A user who may write the parent could replace the folder after the check, unless the parent is sticky like /tmp. */
function assertUnreplaceable(parent: string, userId: number | undefined): void {
  if (userId === undefined) return;
  const stats = assertOwned(parent, userId);
  if ((stats.mode & 0o022) !== 0 && (stats.mode & 0o1000) === 0) {
    throw new Error(`${parent} can be written by other users`);
  }
}

/** Files that root creates in a user's home, as with `sudo -E`, could not be written by the user's own programs. */
function assertOwned(folder: string, userId: number | undefined): Stats {
  const stats = statSync(folder);
  if (userId !== undefined && stats.uid !== userId && stats.uid !== 0)
    throw new Error(`${folder} belongs to user ${stats.uid}`);
  return stats;
}

/** Returns `path`, or its nearest ancestor that exists. */
function nearestFolder(path: string): string {
  const above = dirname(path);
  return existsSync(path) || above === path ? path : nearestFolder(above);
}

function writeFiles(folder: string, { files, read }: Runtime): void {
  chmodSync(folder, 0o700);
  const made = new Set<string>();
  for (const [path] of files) {
    const target = join(folder, path);
    if (!made.has(dirname(target))) mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    made.add(dirname(target));
    writeFileSync(target, read(path), { mode: 0o600 });
    markUnpacked(target);
  }
}

/** Gives a file the time that says that nothing was written into it since. */
export function markUnpacked(path: string): void {
  utimesSync(path, new Date(), unpackedAt);
}

/** The rename is the moment at which other processes see the folder, whole. A damaged one is moved away first. */
function moveIntoPlace(fresh: string, folder: string, runtime: Runtime): void {
  if (tryRename(fresh, folder) || isComplete(folder, runtime)) return;
  const damaged = `${fresh}-damaged`;
  tryRename(folder, damaged);
  rmSync(damaged, { recursive: true, force: true });
  if (!tryRename(fresh, folder) && !isComplete(folder, runtime)) {
    throw new Error(`${folder} is damaged and cannot be replaced`);
  }
}

/** Returns false when the target exists or the source is missing: another process was quicker. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const raceCodes = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EISDIR", "ENOENT", "EPERM"];
    if (typeof code === "string" && raceCodes.includes(code)) return false;
    throw error;
  }
}

/**
 * Keeps the cache folder from growing with every upgrade, and clears up after an unpacking that a crash cut short. Called on
 * unpacking only, so that the usual start does not pay.
 */
function removeOldRuntimes(parent: string, current: string): void {
  const modifiedAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const currentAt = modifiedAt(current);
  const names = readdirSync(parent);
  const others = names
    .filter((name) => name.startsWith(runtimePrefix))
    .map((name) => ({ path: join(parent, name), at: modifiedAt(join(parent, name)) }))
    .filter(({ path }) => path !== current)
    .toSorted((a, b) => b.at - a.at)
    .slice(otherRuntimesMax);
  const unfinished = names
    .filter((name) => name.startsWith(unfinishedPrefix))
    .map((name) => ({ path: join(parent, name), at: modifiedAt(join(parent, name)) }))
    .filter(({ at }) => currentAt - at > unpackingMsMax);
  for (const { path } of [...others, ...unfinished]) rmSync(path, { recursive: true, force: true });
}
