import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** Every file below `folder`, as paths relative to it with forward slashes, in a stable order. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => toSlashes(relative(folder, join(entry.parentPath, entry.name))))
    .toSorted();
}

/** The path as it is written in code and in archives, whatever the platform. */
export function toSlashes(path: string): string {
  return path.split(sep).join("/");
}
