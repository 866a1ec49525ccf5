import { createHash } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  type FileHandle,
  link,
  lstat,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import type { System } from "../../../../system.ts";
import { CliError } from "../../../../errors.ts";
import { partSuffix, toPartPath } from "../../../../support/file-names.ts";
import { toOwnerMark } from "../../../../support/part-files.ts";
import { codeOf, lstatIfThere, putNew } from "../../../../support/save-stream.ts";
import {
  assertUnmoved,
  type LocalFolder,
  makeLocalFolder,
  openLocalFolder,
} from "../local-files.ts";
import { IGNORE_FILE, type SyncFilter } from "../sync-filter.ts";
import type { LocalMark } from "./pair-state.ts";
import {
  addAncestors,
  type Blocked,
  changedMeanwhile,
  isSameMark,
  type LocalEntry,
  type LocalScan,
  loud,
  toLocalMark,
  toNameRefusal,
} from "./scan.ts";

/** The bytes of a part file that is complete. */
export interface Staged {
  readonly part: string;
  readonly sha256: string;
}

/** The bytes of a file that did not change while they were read. */
export interface StableBytes {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** The local folder of a pair. */
export type LocalSide = ReturnType<typeof createLocalFolderSide>;

const READ_BYTES = 512 * 1024;
/** Part files of two-way syncs, with the process that writes them. */
const OWN_PART = new RegExp(`\\.~(\\d{1,10})_[0-9a-f]{8}\\${partSuffix}$`);

/** Opens the local folder of a pair. `root` is absolute. */
export function createLocalFolderSide(
  system: Pick<System, "pid" | "random" | "isProcessAlive" | "platform">,
  root: string,
) {
  const folders = new Map<string, Promise<LocalFolder>>();
  /** Paths as the disk spells them, by key. */
  let spellings: ReadonlyMap<string, LocalEntry> = new Map();

  /** Returns a path with the spelling of the disk, as far as it exists. */
  function spell(path: string): string {
    const known = spellings.get(path.normalize("NFC"));
    if (known !== undefined) return known.path;
    const above = dirname(path);
    return above === "." ? path : `${spell(above)}/${basename(path)}`;
  }

  /** Opens a folder step by step, creating missing ones. No link is followed. */
  function openFolder(path: string): Promise<LocalFolder> {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const opening =
      path === "."
        ? openLocalFolder(root)
        : openFolder(dirname(path)).then((parent) =>
            makeLocalFolder(parent, basename(path), false),
          );
    folders.set(path, opening);
    opening.catch(() => folders.delete(path));
    return opening;
  }

  /** Returns the absolute path of an entry whose folder is still the one that was opened. Creates missing folders. */
  async function locate(path: string): Promise<string> {
    const at = spell(path);
    const folder = await openFolder(dirname(at));
    await assertUnmoved(folder);
    return join(folder.path, basename(at));
  }

  async function openStable({ path, mark }: LocalEntry): Promise<FileHandle> {
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await open(await locate(path), flags);
    try {
      await assertStable(file, path, mark);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async function assertVersion(path: string, expected: LocalMark | undefined): Promise<void> {
    const now = await lstatIfThere(join(root, spell(path)));
    const isSame =
      expected === undefined
        ? now === undefined
        : now !== undefined && isSameMark(toLocalMark(now), expected);
    if (!isSame) throw changedMeanwhile(path);
  }

  return {
    root,

    /** Reads everything below the folder. Removes part files of syncs that were killed. @throws when a folder cannot be read */
    async scan(filter: SyncFilter): Promise<LocalScan> {
      const entries = new Map<string, LocalEntry>();
      const blocked = new Map<string, Blocked>();
      const holdsIgnored = new Set<string>();
      folders.clear();
      const top = await lstat(await realpath(root), { bigint: true });
      await walk("", top.dev);
      spellings = entries;
      const isCaseSensitive = await hasCase(entries);
      return { rootIno: `${top.ino}`, entries, blocked, holdsIgnored, isCaseSensitive };

      async function walk(above: string, dev: bigint): Promise<void> {
        const names = await readdir(join(root, above), { encoding: "buffer" });
        if (names.some((name) => String(name) === IGNORE_FILE)) await readRules(above);
        for (const bytes of names.toSorted((one, other) => one.compare(other))) {
          const name = bytes.toString("utf8");
          const path = above === "" ? name : `${above}/${name}`;
          const key = path.normalize("NFC");
          if (!Buffer.from(name).equals(bytes)) {
            blocked.set(key, loud("its name is not valid UTF-8"));
            continue;
          }
          const stats = await lstatIfThere(join(root, path));
          // It was removed while the folder was read.
          if (stats === undefined) continue;
          if (stats.isFile() && name.endsWith(partSuffix)) {
            await removeAbandoned(join(root, path));
            continue;
          }
          if (filter.isIgnored(key, stats.isDirectory())) {
            addAncestors(key, holdsIgnored);
            continue;
          }
          const twin = entries.get(key);
          if (twin !== undefined) {
            block(key, loud("two names differ only in their Unicode form; rename one of them"));
            continue;
          }
          if (blocked.has(key)) continue;
          const refusal = toNameRefusal(name);
          if (refusal !== undefined) blocked.set(key, loud(refusal));
          else if (stats.isDirectory()) {
            const isMount = stats.dev !== dev;
            entries.set(key, { path, kind: "folder", mark: toLocalMark(stats), isMount });
            await walk(path, stats.dev);
          } else if (stats.isFile())
            entries.set(key, { path, kind: "file", mark: toLocalMark(stats) });
          else blocked.set(key, { reason: "it is a link or device here", isQuiet: true });
        }
      }

      /** Also forgets what was found below the path. */
      function block(key: string, reason: Blocked): void {
        blocked.set(key, reason);
        for (const known of entries.keys())
          if (known === key || known.startsWith(`${key}/`)) entries.delete(known);
      }

      async function readRules(above: string): Promise<void> {
        const at = join(root, above, IGNORE_FILE);
        if ((await lstat(at)).isFile()) filter.addRules("one", above, await readFile(at, "utf8"));
      }
    },

    /** Reads a whole small file. @throws CliError `stale` when it changed */
    async readStable(entry: LocalEntry): Promise<StableBytes> {
      const file = await openStable(entry);
      try {
        const bytes = await file.readFile();
        await assertStable(file, entry.path, entry.mark);
        return { bytes, sha256: sha256Of(bytes) };
      } finally {
        await file.close();
      }
    },

    /**
     * Streams a file. The last bytes come only when it did not change meanwhile, so that no receiver takes a mixture of two
     * versions for complete. `onEnd` gets the hash before them.
     */
    streamStable(entry: LocalEntry, onEnd: (sha256: string) => void): Readable {
      return Readable.from(read(), { objectMode: false });

      async function* read(): AsyncGenerator<Uint8Array> {
        const file = await openStable(entry);
        try {
          const hash = createHash("sha256");
          let held: Uint8Array | undefined;
          for (let at = 0; at < entry.mark.size;) {
            const length = Math.min(READ_BYTES, entry.mark.size - at);
            const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
            if (bytesRead === 0) throw changedMeanwhile(entry.path);
            at += bytesRead;
            const chunk = buffer.subarray(0, bytesRead);
            hash.update(chunk);
            if (held !== undefined) yield held;
            held = chunk;
          }
          await assertStable(file, entry.path, entry.mark);
          onEnd(hash.digest("hex"));
          if (held !== undefined) yield held;
        } finally {
          await file.close();
        }
      }
    },

    /** Returns the SHA-256 of a file. @throws CliError `stale` when it changed */
    async hash(entry: LocalEntry): Promise<string> {
      let sha256 = "";
      for await (const _ of this.streamStable(entry, (hash) => (sha256 = hash)));
      return sha256;
    },

    /**
     * Writes a part file beside `path` and syncs it to the disk. `write` gets a function that appends. After a failure nothing is
     * left.
     */
    async stage(
      path: string,
      write: (append: (chunk: Uint8Array) => Promise<void>) => Promise<void>,
    ): Promise<Staged> {
      const part = toPartPath(await locate(path), toOwnerMark(system));
      const hash = createHash("sha256");
      const file = await open(part, "wx", 0o666);
      try {
        try {
          await write(async (chunk) => {
            hash.update(chunk);
            await file.writeFile(chunk);
          });
          await file.sync();
        } finally {
          await file.close();
        }
        return { part, sha256: hash.digest("hex") };
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
    },

    async discard({ part }: Staged): Promise<void> {
      await rm(part, { force: true });
    },

    /**
     * Gives a part its name. A new file replaces nothing; a replaced one must still be the version `replaced`, which is compared
     * right before the rename. @throws CliError `stale`; the part is removed then
     */
    async place(
      { part }: Staged,
      path: string,
      replaced: LocalEntry | undefined,
    ): Promise<LocalEntry> {
      try {
        const at = await locate(path);
        if (replaced === undefined)
          await putNew(part, at).catch((error: unknown) => {
            if (error instanceof CliError && error.code === "conflict")
              throw changedMeanwhile(path, error);
            throw error;
          });
        else {
          await chmod(part, Number((await lstat(at, { bigint: true })).mode & 0o7777n));
          await assertVersion(path, replaced.mark);
          await rename(part, at);
        }
        return { path: spell(path), kind: "file", mark: await markOf(at) };
      } catch (error) {
        await rm(part, { force: true });
        if (codeOf(error) === "ENOENT") throw changedMeanwhile(path, error);
        throw error;
      }
    },

    async makeFolder(path: string): Promise<void> {
      await openFolder(spell(path));
    },

    /** Moves a file or folder; replaces nothing. @throws CliError `stale` when it or the target is not as the plan saw it */
    async move({ path, kind, mark }: LocalEntry, to: string): Promise<LocalEntry> {
      const [from, target] = [await locate(path), await locate(to)];
      const there = await lstatIfThere(target);
      // On a disk without case, the new spelling of a name finds the file itself.
      const isItself = there !== undefined && `${there.ino}` === mark.ino;
      if (there !== undefined && !isItself) throw changedMeanwhile(to);
      if (kind === "folder") folders.clear();
      else await assertVersion(path, mark);
      if (kind === "folder" || isItself) await rename(from, target);
      else await moveFile(from, target);
      return { path: spell(to), kind, mark: await markOf(target) };
    },

    /** Removes the version of a file that the plan saw. @throws CliError `stale` */
    async removeFile({ path, mark }: LocalEntry): Promise<void> {
      const at = await locate(path);
      await assertVersion(path, mark);
      await rm(at);
    },

    /** Removes an empty folder. Returns false when there is something in it, which stays. */
    async removeFolder({ path }: LocalEntry): Promise<boolean> {
      try {
        await rmdir(await locate(path));
        return true;
      } catch (error) {
        if (codeOf(error) === "ENOENT") return true;
        if (codeOf(error) === "ENOTEMPTY" || codeOf(error) === "EEXIST") return false;
        throw error;
      }
    },

    assertVersion,
  };

  async function removeAbandoned(path: string): Promise<void> {
    const owner = OWN_PART.exec(path)?.[1];
    if (owner === undefined || Number(owner) === system.pid) return;
    if (!system.isProcessAlive(Number(owner))) await rm(path, { force: true });
  }

  /** Whether names that differ in case are different files. Found out without writing: by another spelling of a name. */
  async function hasCase(entries: ReadonlyMap<string, LocalEntry>): Promise<boolean> {
    for (const { path, mark } of entries.values()) {
      const other = path.toUpperCase() === path ? path.toLowerCase() : path.toUpperCase();
      if (other === path || entries.has(other)) continue;
      const found = await lstatIfThere(join(root, other)).catch(() => undefined);
      return found === undefined || `${found.ino}` !== mark.ino;
    }
    return system.platform !== "win32" && system.platform !== "darwin";
  }
}

async function markOf(path: string): Promise<LocalMark> {
  return toLocalMark(await lstat(path, { bigint: true }));
}

async function assertStable(file: FileHandle, path: string, mark: LocalMark): Promise<void> {
  const stats = await file.stat({ bigint: true });
  if (!stats.isFile() || !isSameMark(toLocalMark(stats), mark)) throw changedMeanwhile(path);
}

/** Unlike a rename, this cannot replace a file. */
async function moveFile(from: string, target: string): Promise<void> {
  try {
    await link(from, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw changedMeanwhile(target, error);
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error))) throw error;
    // A file system without hard links.
    return rename(from, target);
  }
  await rm(from);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
