import { constants, type BigIntStats } from "node:fs";
import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  unlink,
  writeFile,
  type FileHandle,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFolder } from "../sync.ts";

/** The files of a cache: `<first two>/<next two>/<key>` below its folder, and `tmp/` for files that are being written. */
export type CacheFiles = Awaited<ReturnType<typeof openCacheFiles>>;

const KEY = /^[0-9a-f]{64}$/;

/** Opens the folder of a cache and creates it if missing. Removes everything below `tmp/`, left by a process that died. */
export async function openCacheFiles(folder: string, newId: () => string) {
  const tmp = join(folder, "tmp");
  const storeIdPath = join(folder, "store-id");
  await rm(tmp, { recursive: true, force: true });
  await mkdir(tmp, { recursive: true, mode: 0o700 });
  const store = await readStoreId(storeIdPath, newId);
  const pathOf = (key: string) => join(folder, key.slice(0, 2), key.slice(2, 4), key);

  return {
    /** Identifies this folder in the index, which several machines may share. */
    store,

    /** Opens a finished file without following links; undefined when it is missing or not a regular file. */
    async open(key: string): Promise<FileHandle | undefined> {
      const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
      let handle: FileHandle;
      try {
        handle = await open(pathOf(key), flags);
      } catch (error) {
        if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes(codeOf(error))) return undefined;
        throw error;
      }
      let isFile = false;
      try {
        isFile = (await handle.stat()).isFile();
        return isFile ? handle : undefined;
      } finally {
        if (!isFile) await handle.close();
      }
    },

    /** Opens a new temporary file for writing and reading. */
    async createTemporary(id: string): Promise<FileHandle> {
      try {
        return await open(join(tmp, id), "wx+", 0o600);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
        // Another program has emptied the folder while it was in use.
        await mkdir(tmp, { recursive: true, mode: 0o700 });
        await writeFile(storeIdPath, store, { mode: 0o600 });
        return open(join(tmp, id), "wx+", 0o600);
      }
    },

    /** Moves a written and synced temporary file to its final name, durably. */
    async publish(id: string, key: string): Promise<void> {
      const path = pathOf(key);
      try {
        await rename(join(tmp, id), path);
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await rename(join(tmp, id), path);
      }
      await syncFolder(dirname(path));
    },

    removeTemporary: (id: string): Promise<void> => removeFile(join(tmp, id)),
    remove: (key: string): Promise<void> => removeFile(pathOf(key)),

    /** Yields the keys of all finished files, folder by folder, and removes files that do not belong to a cache. */
    async *keys(): AsyncIterable<string> {
      for (const first of await listFolders(folder))
        for (const second of await listFolders(join(folder, first)))
          for (const name of await readdir(join(folder, first, second))) {
            if (KEY.test(name) && name.startsWith(first + second)) yield name;
            else await rm(join(folder, first, second, name), { recursive: true, force: true });
          }
    },
  };
}

/** The parts of a file's state that change when the file is written to or replaced. */
export function toFingerprint(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

async function listFolders(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
    .map((entry) => entry.name);
}

async function readStoreId(path: string, newId: () => string): Promise<string> {
  try {
    const storedId = await readFile(path, "utf8");
    if (storedId !== "") return storedId;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  const id = newId();
  await writeFile(path, id, { mode: 0o600 });
  return id;
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EISDIR" || code === "EPERM") await rm(path, { recursive: true, force: true });
    else if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
