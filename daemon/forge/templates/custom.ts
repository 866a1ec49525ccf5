import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** Larger files are no templates. */
const FILE_BYTES_MAX = 256 * 1024;
const FILES_MAX = 2_000;

/**
 * The text files of a folder by their names: plain files only, none that are hidden, none in folders below.
 * A folder that does not exist has none. What cannot be used is reported by name and left out.
 */
export async function readCustomTexts(
  folder: string,
  warn: (message: string) => void,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const name of (await listFiles(folder)).slice(0, FILES_MAX)) {
    const path = join(folder, name);
    if ((await stat(path)).size > FILE_BYTES_MAX) {
      warn(`custom template ${name} is larger than ${FILE_BYTES_MAX} bytes`);
      continue;
    }
    const text = toText(await readFile(path));
    if (text === undefined) warn(`custom template ${name} is not UTF-8 text`);
    else texts.set(name, text);
  }
  return texts;
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map(({ name }) => name);
  } catch (error) {
    if (
      error instanceof Error &&
      "code" in error &&
      (error.code === "ENOENT" || error.code === "ENOTDIR")
    )
      return [];
    throw error;
  }
}

function toText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The decoder's only failure: these bytes are no text.
    return undefined;
  }
}
