import { lstat, readdir } from "node:fs/promises";
import { LISTING_ITEMS_MAX, type ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import type { Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { isBeside, isOwn } from "./paths.ts";
import type { ItemReader } from "./versions.ts";

/** Entries of a folder that are read concurrently. */
const CONCURRENT_STATS = 64;

/** Lists an open folder. Temporary entries are left out; if there are any, calls `clear`. */
export async function listFolder(
  folder: Folder,
  id: string,
  reader: ItemReader,
  signal: AbortSignal,
  clear: () => Promise<void>,
): Promise<ListOutcome> {
  await folder.verify();
  const found = (await readdir(folder.self, { encoding: "buffer" }))
    .map(decodeName)
    .filter((name) => name !== undefined && !(id === "" && isOwn(name)));
  const names = found.filter((name) => name !== undefined && !isBeside(name));
  if (names.length < found.length) await clear();
  if (names.length > LISTING_ITEMS_MAX) return { kind: "unsupported", reason: "folder_too_large" };
  const items: ProviderItem[] = [];
  for (let at = 0; at < names.length; at += CONCURRENT_STATS) {
    if (signal.aborted) return { kind: "offline", sent: false, note: "aborted" };
    const batch = names.slice(at, at + CONCURRENT_STATS).map(async (name) => {
      if (name === undefined) return undefined;
      const stats = await unless(["ENOENT"], lstat(folder.at(name), { bigint: true }));
      // An entry that disappears between reading the folder and reading the entry is left out.
      return stats.ok ? reader.toItem(id, name, stats.value) : undefined;
    });
    for (const item of await Promise.all(batch)) if (item !== undefined) items.push(item);
  }
  return { kind: "ok", items };
}

/** A name that is not valid Unicode cannot be written back unchanged, so it is left out. */
function decodeName(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
