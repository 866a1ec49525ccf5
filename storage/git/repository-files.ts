import { type Dirent, lstatSync, realpathSync } from "node:fs";
import { lstat, mkdir, readdir, realpath, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createPrivateFolder } from "../data-directory.ts";
import { syncFile, syncFolder } from "../sync.ts";
import type { Git } from "./git.ts";
import { type InitialCommit, writeInitialCommit } from "./initial-commit.ts";
import { readSizeKib } from "./refs.ts";

/** How to create a repository on disk. */
export interface NewFiles {
  /** Unique, such as a UUID. */
  readonly key: string;
  readonly objectFormat: "sha1" | "sha256";
  readonly defaultBranch: string;
  /** The initial commit; without it the repository stays empty. */
  readonly firstCommit?: InitialCommit;
  /** Writes the content of the folder in another way. */
  readonly fill?: (directory: string) => Promise<void>;
}

/** Result of a move: `missing`: the source, or the folder of the target, does not exist; `taken`: the target exists. */
export type PlaceOutcome = "placed" | "missing" | "taken";

/**
 * The folder of repositories. Paths are relative to it, with slashes: `owner/name.git`, or `.croft/…` for repositories that
 * are being created or deleted. No link is ever followed below the folder.
 */
export type RepositoryFiles = Awaited<ReturnType<typeof openRepositoryFiles>>;

/** The folder for work in progress: no account can have its name. */
const ASIDE = ".croft";
const NEW = "new-";
const GONE = "gone-";

/** Opens the folder of repositories and creates it if missing. */
export async function openRepositoryFiles({
  git,
  root: configuredRoot,
}: {
  readonly git: Git;
  readonly root: string;
}) {
  await createPrivateFolder(join(configuredRoot, ASIDE));
  const root = await realpath(configuredRoot);
  const toPath = (path: string) => join(root, path);
  const move = async (path: string, target: string): Promise<void> => {
    await rename(toPath(path), toPath(target));
    await syncFolder(dirname(toPath(target)));
    await syncFolder(dirname(toPath(path)));
  };

  const files = {
    /** Creates a repository in a staging folder, complete and synced; returns its path and size. @throws GitError */
    async create({
      key,
      objectFormat,
      defaultBranch,
      firstCommit,
      fill,
    }: NewFiles): Promise<{ readonly path: string; readonly sizeKib: number }> {
      const path = `${ASIDE}/${NEW}${key}`;
      const directory = toPath(path);
      await mkdir(directory, { mode: 0o700 });
      try {
        await git.run(
          [
            "init",
            "--bare",
            "--quiet",
            "--template=",
            `--object-format=${objectFormat}`,
            `--initial-branch=${defaultBranch}`,
          ],
          { directory },
        );
        if (firstCommit !== undefined) await writeInitialCommit(git, directory, firstCommit);
        await fill?.(directory);
        const isEmpty = firstCommit === undefined && fill === undefined;
        const sizeKib = isEmpty ? 0 : await readSizeKib(git, directory);
        await syncTree(directory);
        return { path, sizeKib };
      } catch (error) {
        await rm(directory, { recursive: true, force: true });
        throw error;
      }
    },

    /** Moves a folder and creates the parent of its target. */
    async place(path: string, target: string): Promise<PlaceOutcome> {
      if ((await files.locate(path)) === undefined) return "missing";
      await mkdir(dirname(toPath(target)), { recursive: true, mode: 0o700 });
      const above = dirname(target);
      if ((await files.locate(above)) === undefined) return "taken";
      // Another process that completes the same move may be faster at each step, or place another folder at the target.
      const isLate = async () => (await files.locate(path)) === undefined;
      if (await files.exists(target)) return (await isLate()) ? "missing" : "taken";
      try {
        await move(path, target);
      } catch (error) {
        if (isOccupied(error)) return "taken";
        if (codeOf(error) === "ENOENT" && (await isLate())) return "missing";
        throw error;
      }
      return "placed";
    },

    /**
     * Moves a folder into one that exists, under the name `name`. `missing` when that folder does not exist, as when another
     * process has moved it: it is not created again.
     */
    async placeIn(path: string, folder: string, name: string): Promise<PlaceOutcome> {
      if ((await files.locate(folder)) === undefined) return "missing";
      const target = `${folder}/${name}`;
      if (await files.exists(target)) return "taken";
      try {
        await move(path, target);
      } catch (error) {
        if (isOccupied(error)) return "taken";
        if (codeOf(error) === "ENOENT") return "missing";
        throw error;
      }
      return "placed";
    },

    /** Moves a folder or link to the trash, which takes effect at once; returns whether it existed. */
    async discard(path: string, key: string): Promise<boolean> {
      const above = dirname(path);
      if (above !== "." && (await files.locate(above)) === undefined) return false;
      try {
        await rename(toPath(path), toPath(`${ASIDE}/${GONE}${key}`));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return false;
        throw error;
      }
      await syncFolder(dirname(toPath(path)));
      return true;
    },

    /** Deletes files of `create` that were not moved to their path yet. */
    async undo(created: string): Promise<void> {
      await rm(toPath(created), { recursive: true, force: true });
    },

    /** Empties the trash; may take long. */
    async sweep(): Promise<void> {
      // Links inside are removed, not followed.
      for (const name of await readdir(toPath(ASIDE)))
        if (name.startsWith(GONE))
          await rm(toPath(`${ASIDE}/${name}`), { recursive: true, force: true });
    },

    /** Deletes unfinished repositories, except those for which `isReferenced` returns true. */
    async sweepUnfinished(isReferenced: (path: string) => Promise<boolean>): Promise<void> {
      for (const name of await readdir(toPath(ASIDE))) {
        const path = `${ASIDE}/${name}`;
        if (!name.startsWith(GONE) && !(await isReferenced(path))) await files.undo(path);
      }
    },

    /** Returns the absolute path of a real folder; undefined when it is missing, a link, or reached through one. */
    async locate(path: string): Promise<string | undefined> {
      const absolute = toPath(path);
      try {
        // At once: every request for git objects asks, and each call by libuv's pool takes a turn of the event loop.
        if (!lstatSync(absolute).isDirectory()) return undefined;
        return realpathSync.native(absolute) === absolute ? absolute : undefined;
      } catch (error) {
        if (isAbsence(error)) return undefined;
        throw error;
      }
    },

    /** Returns whether the path exists, even as a link. */
    async exists(path: string): Promise<boolean> {
      try {
        await lstat(toPath(path));
        return true;
      } catch (error) {
        if (isAbsence(error)) return false;
        throw error;
      }
    },

    /** Returns the names of the real folders in a folder; empty when it is missing or a link. */
    async listFolders(path: string): Promise<string[]> {
      const absolute = path === "" ? root : await files.locate(path);
      if (absolute === undefined) return [];
      const entries: Dirent[] = await readdir(absolute, { withFileTypes: true }).catch(
        (error: unknown) => {
          if (isAbsence(error)) return [];
          throw error;
        },
      );
      return entries
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
        .map(({ name }) => name)
        .toSorted();
    },

    /** Removes a folder if it is empty. */
    async removeIfEmpty(path: string): Promise<void> {
      try {
        await rmdir(toPath(path));
      } catch (error) {
        if (!isAbsence(error) && !isOccupied(error)) throw error;
      }
    },
  };
  return files;
}

/** Syncs everything below a folder: a rename must never publish a half-written repository. */
async function syncTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else await syncFile(path);
  }
  await syncFolder(directory);
}

function isOccupied(error: unknown): boolean {
  return ["ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "");
}

function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].includes(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
