import type { BigIntStats } from "node:fs";
import { link, lstat, mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../../../errors.ts";
import { createPartFinder, type PartFinder } from "./part-file.ts";

/** A folder here that downloads go into. */
export interface LocalFolder {
  /** Absolute. */
  readonly path: string;
  /** What tells it from a folder that takes its place later; undefined while it is only planned. */
  readonly mark: string | undefined;
}

/** The folder that was typed; a link to one counts. @throws CliError `file_error` when there is none */
export async function openLocalFolder(path: string): Promise<LocalFolder> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found?.isDirectory() === true) return { path, mark: toMark(found) };
  throw new CliError("file_error", `there is no folder ${path}`);
}

/**
 * A folder in another one, made when it is not there. A link is not followed: it could lead anywhere.
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
  const what = found.isSymbolicLink() ? "a link, which is not followed" : "no folder";
  throw new CliError("conflict", `${path} is ${what}`);
}

/** Makes sure that the folder is still the one that was opened or made. @throws CliError `conflict` */
export async function assertUnmoved({ path, mark }: LocalFolder): Promise<void> {
  // The one that was typed may be a link, so links are followed here: what they lead to has to be the same.
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || toMark(found) !== mark)
    throw new CliError("conflict", `${path} was replaced while files were put into it`);
}

/** @throws CliError `conflict` when there is anything at `path`, be it a link that leads nowhere */
export async function assertFree(path: string): Promise<void> {
  if ((await lstatIfThere(path)) !== undefined) throw toTaken(path);
}

/** What the downloads of one run know of each other. */
export interface LocalFiles {
  readonly parts: PartFinder;
  /** Beginnings that were left so that another run can go on with them. */
  readonly kept: Set<string>;
  /**
   * Gives a whole file its name, in one step. What is there is replaced only if it may be, and never when this run has
   * written it: two names can be one file where case does not matter. @throws CliError `conflict`
   */
  put(part: string, path: string, mayReplace: boolean): Promise<void>;
}

export function createLocalFiles(): LocalFiles {
  const written = new Set<string>();
  let turn: Promise<unknown> = Promise.resolve();
  return {
    parts: createPartFinder(),
    kept: new Set(),
    put(part, path, mayReplace) {
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

/** A second name and then the end of the first one: unlike a rename that replaces nothing that came in between. */
async function putNew(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw toTaken(path);
    if (!withoutLinks.has(codeOf(error))) throw error;
    await assertFree(path);
    return rename(part, path);
  }
  await rm(part);
}

/** What file systems say that know no second names. */
const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

function toTaken(path: string): CliError {
  return new CliError("conflict", `${path} exists`, {
    hint: "--force replaces it, --skip-existing leaves what is the same",
  });
}

async function lstatIfThere(path: string): Promise<BigIntStats | undefined> {
  return lstat(path, { bigint: true }).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

function toMark({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
