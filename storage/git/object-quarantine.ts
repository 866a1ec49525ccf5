import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../system-errors.ts";

/** New objects of a repository that no other reader finds until they are accepted. The end of the block drops the rest. */
export interface ObjectQuarantine extends AsyncDisposable {
  /** The folder of the objects, relative to the repository. */
  readonly folder: string;
  /** Environment of a git that writes into the folder and reads the repository as well. */
  readonly env: Readonly<Record<string, string>>;
  /** Moves the objects into the repository, as git does with those of a push. */
  accept(): Promise<void>;
}

/**
 * Opens an empty folder for the objects of one change: a change that is refused leaves none. `git prune` removes a folder of
 * this name that a crash has left.
 * @param key a name that no other running call uses
 */
export async function openQuarantine(directory: string, key: string): Promise<ObjectQuarantine> {
  const folder = join("objects", `tmp_objdir-new-${key}`);
  const path = join(directory, folder);
  await mkdir(path, { mode: 0o700 });
  return {
    folder,
    env: { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: "objects" },
    accept: () => moveObjects(path, join(directory, "objects")),
    // A git that outlives its run, because the process that started it was killed, may still write there.
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }),
  };
}

const ATTEMPTS_MAX = 5;
/** Loose objects lie in folders of two hexadecimal digits. */
const FOLDER = /^(?:pack|[0-9a-f]{2})$/;

async function moveObjects(from: string, to: string): Promise<void> {
  for (const folder of (await readdir(from)).filter((name) => FOLDER.test(name))) {
    // A pack is found by its index, so that comes last. An object that exists already is replaced by an equal one.
    for (const name of (await readdir(join(from, folder))).toSorted(byIndexLast))
      await moveObject(join(from, folder, name), join(to, folder), name);
  }
}

/** Moves an object into a folder, which `git gc` removes whenever it is empty. */
async function moveObject(path: string, folder: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      await rename(path, join(folder, name));
      return;
    } catch (error) {
      if (!isMissing(error) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

const byIndexLast = (one: string, other: string) =>
  Number(one.endsWith(".idx")) - Number(other.endsWith(".idx"));
