import { lstat, readdir } from "node:fs/promises";
import { LISTING_ITEMS_MAX, type ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import type { Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { isBeside, isOwn } from "./paths.ts";
import type { ItemReader } from "./versions.ts";

/** Entries of a folder that are read concurrently. */
const CONCURRENT_STATS = 64;

/**
 * An entry that disappears after the folder was read is left out. One that cannot be looked at, such as a mount point whose
 * server is away, must not hide its siblings.
 */
const LEFT_OUT = ["ENOENT", "EIO", "ENOTCONN", "ESTALE", "EHOSTDOWN", "ETIMEDOUT"];

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
  const unknown: string[] = [];
  for (let at = 0; at < names.length; at += CONCURRENT_STATS) {
    if (signal.aborted) return { kind: "offline", sent: false, note: "aborted" };
    const batch = names.slice(at, at + CONCURRENT_STATS).map(async (name) => {
      if (name === undefined) return undefined;
      const stats = await unless(LEFT_OUT, lstat(folder.at(name), { bigint: true }));
      if (stats.ok) return reader.toItem(id, name, stats.value);
      if (stats.code !== "ENOENT") unknown.push(id === "" ? name : `${id}/${name}`);
      return undefined;
    });
    for (const item of await Promise.all(batch)) if (item !== undefined) items.push(item);
  }
  return unknown.length === 0 ? { kind: "ok", items } : { kind: "ok", items, unknown };
}

/** A name that is not valid Unicode cannot be written back unchanged, so it is left out. */
function decodeName(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
