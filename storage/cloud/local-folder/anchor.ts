import { constants, type BigIntStats } from "node:fs";
import { lstat, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { createOwner } from "../../owner.ts";

/**
 * An open folder. On Linux names are resolved below the handle itself, so that a program that swaps a folder of the path
 * for a link cannot redirect a call. On other systems `verify` checks the path again before each call.
 */
export interface Folder extends AsyncDisposable {
  /** Returns a path to the entry `name` of this folder. `name` is one segment. */
  at(name: string): string;
  /** Returns a path to this folder. */
  readonly self: string;
  readonly dev: bigint;
  readonly ino: bigint;
  /** Creation time in nanoseconds, if the file system records it. */
  readonly born: bigint;
  /** Throws ENOTDIR when the path no longer leads through the folders that were opened. */
  verify(): Promise<void>;
  /** Syncs changes of its entries, if the file system supports it. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** How folders are addressed: by `/proc/self/fd`, or by a path that is verified again. */
export type Anchoring = "handle" | "path";

/** Opens a folder that the administrator configured by its real path. */
export function openTrusted(realPath: string, anchoring: Anchoring): Promise<Folder> {
  return anchoring === "handle" ? openByHandle(realPath) : openByPath(realPath, []);
}

/** Opens the folder `segments` below `from`, or `from` itself for an empty path. Follows no link. `from` stays open. */
export async function openBelow(from: Folder, segments: readonly string[]): Promise<Folder> {
  let folder = await openChild(from, segments[0] ?? ".");
  for (const segment of segments.slice(1)) {
    const above = folder;
    try {
      folder = await openChild(above, segment);
    } finally {
      await above.close();
    }
  }
  return folder;
}

interface Step {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** An anchor by path keeps the folders from the trusted one down. */
interface PathFolder extends Folder {
  readonly steps: readonly Step[];
}

function openChild(parent: Folder, segment: string): Promise<Folder> {
  return "steps" in parent
    ? openByPath(parent.at(segment), (parent as PathFolder).steps)
    : openByHandle(parent.at(segment));
}

async function openByHandle(path: string): Promise<Folder> {
  await using owner = createOwner();
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const handle = owner.own(await open(path, flags));
  const { dev, ino, birthtimeNs: born } = await handle.stat({ bigint: true });
  const self = `/proc/self/fd/${handle.fd}`;
  owner.handOver(handle);
  return {
    at: (name) => `${self}/${name}`,
    self: `${self}/.`,
    dev,
    ino,
    born,
    verify: async () => undefined,
    sync: () => syncFolder(handle),
    close: () => handle.close(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function openByPath(path: string, above: readonly Step[]): Promise<PathFolder> {
  const { dev, ino, birthtimeNs: born } = await lstatFolder(path);
  const steps = [...above, { path, dev, ino }];
  return {
    at: (name) => (name === "." ? path : join(path, name)),
    self: path,
    dev,
    ino,
    born,
    steps,
    verify: async () => {
      for (const step of steps) {
        const current = await lstatFolder(step.path);
        if (current.dev !== step.dev || current.ino !== step.ino) throw notFolder();
      }
    },
    // Only a handle can be synced; systems without /proc make renames durable in order.
    sync: async () => undefined,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function lstatFolder(path: string): Promise<BigIntStats> {
  const found = await lstat(path, { bigint: true });
  if (!found.isDirectory()) throw notFolder();
  return found;
}

async function syncFolder(handle: FileHandle): Promise<void> {
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems refuse to sync a folder; the change is then as durable as they make it.
    if (!(error instanceof Error && "code" in error && error.code === "EINVAL")) throw error;
  }
}

function notFolder(): Error {
  return Object.assign(new Error("ENOTDIR: not the folder that was opened"), {
    code: "ENOTDIR",
    syscall: "open",
  });
}

/** Runs `work` with an open folder and closes it. */
export async function using<T>(
  opening: Promise<Folder>,
  work: (folder: Folder) => Promise<T>,
): Promise<T> {
  await using folder = await opening;
  return await work(folder);
}
