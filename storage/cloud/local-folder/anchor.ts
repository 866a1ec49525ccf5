import { constants, type BigIntStats } from "node:fs";
import { lstat, open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/**
 * An open folder. On Linux names are resolved below the handle itself, so that nobody who swaps a folder on the way
 * for a link can lead a call elsewhere. Elsewhere the way is looked at again by `verify` before each call.
 */
export interface Folder {
  /** A path that means `name` in this very folder. `name` is one segment. */
  at(name: string): string;
  /** A path that means this very folder. */
  readonly self: string;
  readonly dev: bigint;
  readonly ino: bigint;
  /** When it was made, in nanoseconds, where its file system remembers. */
  readonly born: bigint;
  /** Throws ENOTDIR when the way to this folder is no longer made of the folders that were opened. */
  verify(): Promise<void>;
  /** Makes changes of its entries durable, where the file system can. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** How folders are held: by `/proc/self/fd`, or by looking at the path again. */
export type Anchoring = "handle" | "path";

/** Opens a folder that the administrator names by its real path. */
export function openTrusted(realPath: string, anchoring: Anchoring): Promise<Folder> {
  return anchoring === "handle" ? openByHandle(realPath) : openByPath(realPath, []);
}

/** Opens the folder `segments` below `from`, itself when there are none. No link is followed. `from` stays open. */
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

/** A folder that is held by path knows its way from the trusted one. */
interface PathFolder extends Folder {
  readonly way: readonly Step[];
}

function openChild(parent: Folder, segment: string): Promise<Folder> {
  return "way" in parent
    ? openByPath(parent.at(segment), (parent as PathFolder).way)
    : openByHandle(parent.at(segment));
}

async function openByHandle(path: string): Promise<Folder> {
  const handle = await open(
    path,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    const { dev, ino, birthtimeNs: born } = await handle.stat({ bigint: true });
    const self = `/proc/self/fd/${handle.fd}`;
    return {
      at: (name) => `${self}/${name}`,
      self: `${self}/.`,
      dev,
      ino,
      born,
      verify: async () => undefined,
      sync: () => syncFolder(handle),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openByPath(path: string, above: readonly Step[]): Promise<PathFolder> {
  const { dev, ino, birthtimeNs: born } = await lstatFolder(path);
  const way = [...above, { path, dev, ino }];
  return {
    at: (name) => (name === "." ? path : join(path, name)),
    self: path,
    dev,
    ino,
    born,
    way,
    verify: async () => {
      for (const step of way) {
        const current = await lstatFolder(step.path);
        if (current.dev !== step.dev || current.ino !== step.ino) throw notFolder();
      }
    },
    // Only a handle can be synced; systems without /proc make renames durable in order.
    sync: async () => undefined,
    close: async () => undefined,
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
