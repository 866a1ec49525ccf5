import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Follow } from "./folder-listings.ts";
import { toKey } from "./remote-folder.ts";

/**
 * Returns a function that selects the folders of the target that an upload of `sources` enters: those that the local folders
 * have too. The sources go into the folder `targetId`.
 */
export function createFollow(targetId: string, sources: readonly string[]): Follow {
  /** Local folders by the id of the folder that they go to. */
  const locals = new Map<string, readonly string[]>();
  return async (id, items) => {
    const below = (await Promise.all((locals.get(id) ?? []).map(readSubfolders))).flat();
    const paths = id === targetId ? [...sources, ...below] : below;
    const byName = Map.groupBy(paths, (path) => toKey(basename(path)));
    locals.delete(id);
    return items.filter(({ kind, name, provider_item_id: itemId }) => {
      const same = byName.get(toKey(name));
      if (kind !== "folder" || same === undefined) return false;
      locals.set(itemId, same);
      return true;
    });
  };
}

async function readSubfolders(path: string): Promise<readonly string[]> {
  // The walk reads the same folder and reports its errors.
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
}
