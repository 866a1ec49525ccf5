import { randomUUID } from "node:crypto";
import { mkdir, open, readlink, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError } from "../errors.ts";

/**
 * Replaces a file atomically: writes a temporary file, syncs and renames it. Where a link leads to the file, the link stays.
 * The file has mode 0600, created folders 0700.
 */
export async function writePrivateFile(link: string, text: string): Promise<void> {
  const path = await followLinks(link);
  await makePrivateFolder(dirname(path));
  const temporary = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Returns where a path leads; the file at the end of its links need not exist. */
async function followLinks(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links < LINKS_MAX; links += 1) {
    const target = await readlink(at).catch((error: unknown) => {
      if (!["EINVAL", "ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) throw error;
    });
    if (target === undefined) return at;
    at = resolve(dirname(at), target);
  }
  throw new CliError("file_error", `${path}: its links lead nowhere`);
}

/** As Linux follows. */
const LINKS_MAX = 40;

/**
 * Creates a folder of mode 0700 and its missing ancestors. Node's own `recursive` never returns where an existing
 * folder cannot contain another one, as in /proc.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const make = async () => {
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (error) {
      const isThere = codeOf(error) === "EEXIST" && (await stat(path)).isDirectory();
      if (!isThere) throw error;
    }
  };
  try {
    await make();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makePrivateFolder(dirname(path));
    await make();
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
