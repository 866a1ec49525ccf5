import type { BigIntStats } from "node:fs";
import { lstat, mkdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../../../errors.ts";
import { partSuffix } from "../../../support/file-names.ts";
import { createPartFolders, type PartSystem } from "../../../support/part-files.ts";
import { codeOf, lstatIfThere, putNew } from "../../../support/save-stream.ts";

/** A local target folder of downloads. */
export interface LocalFolder {
  /** Absolute. */
  readonly path: string;
  /** Identifies the folder, so that a replacement is detected; undefined before it exists. */
  readonly mark: string | undefined;
}

/** Resolves a typed folder; a link to one counts. @throws CliError `file_error` when it does not exist */
export async function openLocalFolder(path: string): Promise<LocalFolder> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found?.isDirectory() === true) return { path, mark: toMark(found) };
  throw new CliError("file_error", `there is no folder ${path}`);
}

/**
 * Opens a folder in another one, or creates it. Does not follow links, which could lead anywhere.
 * @throws CliError `conflict` when something else has its name
 */
export async function makeLocalFolder(
  parent: LocalFolder,
  name: string,
  isPlan: boolean,
): Promise<LocalFolder> {
  const path = join(parent.path, name);
  if (!isPlan) {
    await assertUnmoved(parent);
    await mkdir(path).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
  const found = await lstatIfThere(path);
  if (found?.isDirectory() === true) return { path, mark: toMark(found) };
  if (found === undefined) return { path, mark: undefined };
  const kind = found.isSymbolicLink() ? "a link, which is not followed" : "not a folder";
  throw new CliError("conflict", `${path} is ${kind}`);
}

/** Checks that the folder is still the one that was opened or created. @throws CliError `conflict` */
export async function assertUnmoved({ path, mark }: LocalFolder): Promise<void> {
  // Follows links, because the typed path may be one; its target must be the same folder.
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || toMark(found) !== mark)
    throw new CliError("conflict", `${path} was replaced during the download`);
}

/** State that the downloads of one run share. */
export type LocalFiles = ReturnType<typeof createLocalFiles>;

export function createLocalFiles() {
  const written = new Set<string>();
  let turn: Promise<unknown> = Promise.resolve();
  return {
    parts: createPartFinder(),
    /** Part files that another run can resume. */
    resumableParts: new Set(),
    /**
     * Renames a complete part to its name, atomically. Replaces an existing file only if `mayReplace`, and never one that
     * this run has written: on a case-insensitive file system two names can be one file. @throws CliError `conflict`
     */
    put(part: string, path: string, mayReplace: boolean) {
      const putting = turn.then(async () => {
        if (mayReplace) await replace(part, path);
        else await putNew(part, path);
        const now = await lstatIfThere(path);
        if (now !== undefined) written.add(toMark(now));
      });
      turn = putting.catch(() => undefined);
      return putting;
    },
  };

  async function replace(part: string, path: string): Promise<void> {
    const there = await lstatIfThere(path);
    if (there !== undefined && written.has(toMark(there)))
      throw new CliError("conflict", `${path} was just written for another item`);
    await rename(part, path);
  }
}

function toMark({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/**
 * A partial download. Its name contains the version's entity tag, so that a file never mixes two versions, even after
 * a crash.
 */
export interface Part {
  readonly path: string;
  /** The entity tag without its quotes; undefined when the server sent no strong one. */
  readonly tag: string | undefined;
  /** In bytes. */
  readonly size: number;
}

/** The tag in an `ETag` header, if it is a strong one that fits into a name. */
export function toTag(etag: unknown): string | undefined {
  return /^"([\w-]{8,64})"$/.exec(String(etag ?? ""))?.[1];
}

/** The end of a part's name: the entity tag of its version and, while a process writes to it, that process. */
const PART_END = /\.([\w-]{8,64})(?:~(\d{1,10})_[0-9a-f]{8})?$/;

/** Finds part files of earlier runs. Each folder is read once, on first use. */
function createPartFinder() {
  const folders = createPartFolders();
  return {
    /** Removes the parts of a path that killed processes have left and that no run can resume. */
    sweep: folders.sweep,

    /** Returns the newest part file for `path` that no running process writes to, and removes the older ones. */
    async find(path: string, system: PartSystem): Promise<Part | undefined> {
      const folder = dirname(path);
      await folders.sweep(path, system);
      const parts: (Part & { readonly changedAt: number })[] = [];
      for (const name of await folders.read(folder)) {
        const [end = "", tag, owner] = PART_END.exec(name.slice(0, -partSuffix.length)) ?? [];
        // A truncated name may be the prefix of another one.
        if (tag === undefined || name !== `${basename(path)}${end}${partSuffix}`) continue;
        // Two processes that wrote to one part could mix their bytes.
        if (owner !== undefined && system.isProcessAlive(Number(owner))) continue;
        const found = await lstat(join(folder, name)).catch(() => undefined);
        // A link would redirect the bytes.
        if (found?.isFile() === true)
          parts.push({ path: join(folder, name), tag, size: found.size, changedAt: found.mtimeMs });
      }
      const [newest, ...older] = parts.toSorted((one, other) => other.changedAt - one.changedAt);
      for (const part of older) await rm(part.path, { force: true });
      return newest;
    },
  };
}
