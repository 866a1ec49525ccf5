import { lstat, readdir, readFile } from "node:fs/promises";
import { parseJsonObject } from "../json.ts";
import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import { toTrashPage, TRASH_EMPTY_ITEMS, type Trash, type TrashedItem } from "../trash.ts";
import { openBelow, using, type Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { toPlace } from "./paths.ts";
import { relocate, type Place, type Staging } from "./relocate.ts";
import { forget, isTrashId, removeBin } from "./trash.ts";
import type { ItemReader } from "./versions.ts";

/** The parts of a root that its trash needs. */
export interface TrashHolder {
  /** Runs `work` with the root, its trash and its staging folder open, and maps a failed system call to its outcome. */
  inTrash<T>(
    work: (open: {
      readonly root: Folder;
      readonly trash: Folder;
      readonly staging: Folder;
    }) => Promise<T | Failure>,
  ): Promise<T | Failure>;
  readonly toItem: ItemReader["toItem"];
  toStaging(staging: Folder, origin: string, destination: string): Staging;
  /** Returns whether an id still leads to the open folder. */
  isStillAt(root: Folder, id: string, folder: Folder): Promise<boolean>;
  /** Returns a temporary name for an entry that is being removed. */
  newRemovalName(): string;
}

const RECORD = ".json";
/** A path has at most a few thousand bytes. */
const RECORD_BYTES_MAX = 64 * 1024;

/** The deleted items of a root, in the folders of `trash.ts`. */
export function createTrash(holder: TrashHolder): Trash {
  return {
    list: ({ cursor }) =>
      holder.inTrash(async ({ trash }) => {
        const ids = await listIds(trash);
        const page = toTrashPage(ids.map(toNameless), cursor);
        const items: TrashedItem[] = [];
        for (const { id } of page.items) {
          const found = await readTrashedItem(trash, id);
          if (found !== undefined) items.push(found);
        }
        return { ...page, items };
      }),

    restore: ({ id }) =>
      holder.inTrash(async ({ root, trash, staging }): Promise<ItemOutcome> => {
        const record = isTrashId(id) ? await readRecord(trash, id) : undefined;
        const place = record === undefined ? undefined : toPlace(record.path);
        if (record === undefined || place === undefined)
          return { kind: "stale", note: "no_record" };
        const restored = await using(openBelow(trash, [id]), (bin) =>
          using(openBelow(root, place.parent), async (folder): Promise<ItemOutcome> => {
            const from: Place = { folder: bin, name: place.name };
            const stagingArea = holder.toStaging(
              staging,
              `.croft/trash/${id}/${place.name}`,
              record.path,
            );
            const moved = await relocate(
              from,
              { folder, name: place.name },
              () => true,
              stagingArea,
            );
            if (moved.kind !== "ok") return moved;
            if (!(await holder.isStillAt(root, place.parentId, folder)))
              return { kind: "unknown_outcome", note: "parent_moved" };
            return { kind: "ok", item: holder.toItem(place.parentId, place.name, moved.stats) };
          }),
        );
        if (restored.kind === "ok") await forget(trash, id);
        return restored;
      }),

    empty: ({ signal }) =>
      holder.inTrash(async ({ trash }) => {
        const ids = await listIds(trash);
        let removed = 0;
        for (const id of ids.slice(0, TRASH_EMPTY_ITEMS)) {
          if (signal.aborted) break;
          // Under this name a later start completes the removal of a folder that a crash interrupted.
          const removal = holder.newRemovalName();
          await unless(["ENOENT"], removeBin(trash, id, removal));
          await forget(trash, id);
          removed += 1;
        }
        return { kind: "ok", removed, isComplete: removed === ids.length } as const;
      }),
  };
}

/** The ids of all deleted items, by their records. */
async function listIds(trash: Folder): Promise<readonly string[]> {
  const names = await readdir(trash.self);
  return names
    .filter((name) => name.endsWith(RECORD) && isTrashId(name.slice(0, -RECORD.length)))
    .map((name) => name.slice(0, -RECORD.length))
    .sort();
}

function toNameless(id: string): TrashedItem {
  const unknown = { kind: undefined, from: undefined, size: undefined, deletedAt: undefined };
  return { id, name: id, ...unknown };
}

/** Undefined for an item that has left the trash, and for a record that a crash truncated. */
async function readTrashedItem(trash: Folder, id: string): Promise<TrashedItem | undefined> {
  const record = await readRecord(trash, id);
  const place = record === undefined ? undefined : toPlace(record.path);
  if (record === undefined || place === undefined) return undefined;
  const bin = await unless(["ENOENT", "ENOTDIR", "ELOOP"], openBelow(trash, [id]));
  if (!bin.ok) return undefined;
  try {
    const stats = await unless(["ENOENT"], lstat(bin.value.at(place.name), { bigint: true }));
    if (!stats.ok) return undefined;
    const isFolder = stats.value.isDirectory();
    return {
      id,
      name: place.name,
      kind: isFolder ? "folder" : "file",
      from: { kind: "path", names: place.parent },
      size: isFolder ? undefined : Number(stats.value.size),
      deletedAt: record.deletedAt,
    };
  } finally {
    await bin.value.close();
  }
}

async function readRecord(
  trash: Folder,
  id: string,
): Promise<{ readonly path: string; readonly deletedAt: number | undefined } | undefined> {
  const file = trash.at(`${id}${RECORD}`);
  const found = await unless(["ENOENT"], lstat(file));
  if (!found.ok || !found.value.isFile() || found.value.size > RECORD_BYTES_MAX) return undefined;
  const text = await unless(["ENOENT"], readFile(file, "utf8"));
  const { path, deleted_at: at } = (text.ok ? parseJsonObject(text.value) : undefined) ?? {};
  if (typeof path !== "string") return undefined;
  const deletedAt = typeof at === "string" ? Date.parse(at) : Number.NaN;
  return { path, deletedAt: Number.isNaN(deletedAt) ? undefined : deletedAt };
}
