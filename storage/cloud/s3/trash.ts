import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import { TRASH_EMPTY_ITEMS, TRASH_PAGE_ITEMS, type Trash, type TrashedItem } from "../trash.ts";
import { findObject, hasKeys, toLockKey, type Store } from "./context.ts";
import { OWN_FOLDER, splitId } from "./keys.ts";
import { pagesOf, toFolderItem, toItem, type KeyEntry } from "./listing.ts";
import { refusePlace, toPlace } from "./names.ts";
import { removeBatch } from "./remove.ts";
import { toChangeFailure } from "../../s3/failures.ts";

/** Pages that one call reads to find deleted keys: a listing has the versions of all existing ones as well. */
const PAGES_MAX = 20;

/** The most delete markers of one key, which one request removes. */
const MARKERS_MAX = 1_000;

/**
 * The deleted objects of a bucket with versions: keys whose newest version is a delete marker. Restoring removes the marker;
 * emptying removes all versions of such keys. A folder is shown where it had a marker object of its own, and is restored
 * with all deleted objects below it.
 */
export function createTrash(store: Store): Trash {
  const { root } = store.keys;

  /** The versions of all keys, each key's newest first, from a key on. */
  async function* versions(prefix: string, after: string | undefined, signal: AbortSignal) {
    const query = { prefix, versions: "", ...(after === undefined ? {} : { "key-marker": after }) };
    for await (const page of pagesOf(store, query, signal))
      yield page.kind === "ok" ? { ...page, entries: toNewestFirst(page.entries) } : page;
  }

  function isOwn({ key }: KeyEntry): boolean {
    return key.startsWith(`${root}${OWN_FOLDER}/`) || key === root;
  }

  function toTrashed(marker: KeyEntry, size: number | undefined): TrashedItem {
    const isFolder = marker.key.endsWith("/");
    const id = store.keys.toId(isFolder ? marker.key.slice(0, -1) : marker.key);
    const { parent, name } = splitId(id);
    return {
      id: isFolder ? `${id}/` : id,
      name,
      kind: isFolder ? "folder" : "file",
      from: { kind: "path", names: parent === "" ? [] : parent.split("/") },
      size: isFolder ? undefined : size,
      deletedAt: marker.modifiedAt,
    };
  }

  async function restoreFile(id: string, signal: AbortSignal): Promise<ItemOutcome> {
    const { parent, name } = splitId(id);
    const place = toPlace(store, parent, name);
    if ("kind" in place) return { kind: "stale", note: "impossible_id" };
    return store.deps.locks.withLocks([toLockKey(store, place.key)], async () => {
      const markers = await findMarkers(place.key, signal);
      if ("kind" in markers) return markers;
      if (markers.length === 0) return { kind: "stale", note: "not_deleted" };
      const refusal = await refusePlace(store, place, signal);
      if (refusal !== undefined) return refusal;
      const failed = await removeBatch(store, markers.map(toTarget), signal);
      if (failed !== undefined) return failed.failure;
      const head = await findObject(store, place.key, signal);
      if (head?.kind === "refused") return { kind: "unknown_outcome", note: "restore_unseen" };
      // The key had only markers left.
      if (head === undefined) return { kind: "stale", note: "no_version" };
      return { kind: "ok", item: toItem(id, head) };
    });
  }

  /** Returns the delete markers above the newest bytes of a key. */
  async function findMarkers(
    key: string,
    signal: AbortSignal,
  ): Promise<readonly KeyEntry[] | Failure> {
    const markers: KeyEntry[] = [];
    for await (const page of versions(key, undefined, signal)) {
      if (page.kind !== "ok") return page;
      for (const entry of page.entries) {
        // Keys are sorted, so the key itself is first.
        if (entry.key !== key) return [];
        if (!entry.isMarker) return markers;
        if (markers.length === MARKERS_MAX)
          return { kind: "offline", sent: true, note: "listing_without_end" };
        markers.push(entry);
      }
    }
    return [];
  }

  async function restoreFolder(id: string, signal: AbortSignal): Promise<ItemOutcome> {
    const prefix = store.keys.toFolderPrefix(id);
    const { parent, name } = splitId(id);
    const place = toPlace(store, parent, name);
    if (prefix === undefined || "kind" in place) return { kind: "stale", note: "impossible_id" };
    return store.deps.locks.withLocks([toLockKey(store, place.key)], async () => {
      const refusal = await refusePlace(store, place, signal);
      if (refusal !== undefined) return refusal;
      let restored = 0;
      for await (const page of versions(prefix, undefined, signal)) {
        if (page.kind !== "ok") return restored > 0 ? partly : page;
        const markers = page.entries.filter((entry) => entry.isMarker && entry.isLatest);
        const failed = await removeBatch(store, markers.map(toTarget), signal);
        if (failed !== undefined) return restored + failed.removed > 0 ? partly : failed.failure;
        restored += markers.length;
      }
      if (restored === 0) return { kind: "stale", note: "not_deleted" };
      const isThere = await hasKeys(store, prefix, signal);
      if (typeof isThere === "object") return toChangeFailure(isThere.failure);
      return isThere
        ? { kind: "ok", item: toFolderItem(parent, name) }
        : { kind: "stale", note: "no_version" };
    });
  }

  return {
    async list({ cursor, signal }) {
      if (cursor !== undefined && !cursor.startsWith(root))
        return { kind: "stale", note: "bad_cursor" };
      const items: TrashedItem[] = [];
      let pages = 0;
      let marker: KeyEntry | undefined;
      for await (const page of versions(root, cursor, signal)) {
        if (page.kind !== "ok") return page;
        for (const entry of page.entries) {
          if (entry.isLatest) marker = entry.isMarker && !isOwn(entry) ? entry : undefined;
          // A key that has markers only cannot be restored.
          if (entry.isMarker || entry.key !== marker?.key) continue;
          items.push(toTrashed(marker, entry.size));
          marker = undefined;
          if (items.length === TRASH_PAGE_ITEMS) return { kind: "ok", items, next: entry.key };
        }
        const last = page.entries.at(-1);
        if (++pages >= PAGES_MAX && last !== undefined && marker === undefined)
          return { kind: "ok", items, next: last.key };
      }
      return { kind: "ok", items, next: undefined };
    },

    restore: ({ id, signal }) =>
      id.endsWith("/") ? restoreFolder(id.slice(0, -1), signal) : restoreFile(id, signal),

    async empty({ signal }) {
      let removed = 0;
      // Removed after the older versions of its key, so that no older version becomes visible.
      let marker: KeyEntry | undefined;
      for await (const page of versions(root, undefined, signal)) {
        if (page.kind !== "ok") return page;
        const older: KeyEntry[] = [];
        const markers: KeyEntry[] = [];
        let isFull = false;
        for (const entry of page.entries) {
          if (entry.isLatest) {
            if (marker !== undefined) markers.push(marker);
            marker = undefined;
            isFull = removed === TRASH_EMPTY_ITEMS;
            if (isFull) break;
            if (!entry.isMarker || isOwn(entry)) continue;
            marker = entry;
            removed += 1;
          } else if (entry.key === marker?.key) older.push(entry);
        }
        const failed = await removeAll(older, markers, signal);
        if (failed !== undefined) return failed;
        if (isFull) return { kind: "ok", removed, isComplete: false };
      }
      const failed = await removeAll([], marker === undefined ? [] : [marker], signal);
      return failed ?? { kind: "ok", removed, isComplete: true };
    },
  };

  async function removeAll(
    older: readonly KeyEntry[],
    markers: readonly KeyEntry[],
    signal: AbortSignal,
  ): Promise<Failure | undefined> {
    const reusable = new Set([...older, ...markers].filter(isReusable).map(({ key }) => key));
    const isFixed = ({ key }: KeyEntry) => !reusable.has(key);
    const failed =
      (await removeBatch(store, older.filter(isFixed).map(toTarget), signal)) ??
      (await removeBatch(store, markers.filter(isFixed).map(toTarget), signal));
    if (failed !== undefined) return failed.failure;
    for (const key of reusable) {
      const ofKey = (entry: KeyEntry) => entry.key === key;
      const failure = await removeReusable(key, older.filter(ofKey), markers.filter(ofKey), signal);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  /** Removes versions of a key that is still deleted. Its lock keeps uploads of this daemon away. */
  function removeReusable(
    key: string,
    older: readonly KeyEntry[],
    markers: readonly KeyEntry[],
    signal: AbortSignal,
  ): Promise<Failure | undefined> {
    return store.deps.locks.withLocks([toLockKey(store, key)], async () => {
      for await (const page of versions(key, undefined, signal)) {
        if (page.kind !== "ok") return page;
        const newest = page.entries.find((entry) => entry.key === key && entry.isLatest);
        // Written again since it was listed.
        if (newest?.isMarker === false) return undefined;
        if (newest !== undefined) break;
      }
      const targets = [...older, ...markers].map(toTarget);
      return (await removeBatch(store, targets, signal))?.failure;
    });
  }
}

/** Some servers, such as moto, list the markers of a page after all of its versions. */
function toNewestFirst(entries: readonly KeyEntry[]): readonly KeyEntry[] {
  const byKey = Map.groupBy(entries, ({ key }) => key);
  return [...byKey]
    .map(([key, versions]) => ({ key: Buffer.from(key), versions }))
    .toSorted((a, b) => Buffer.compare(a.key, b.key))
    .flatMap(({ versions }) => versions.toSorted((a, b) => toRank(b) - toRank(a)));
}

function toRank({ isLatest, modifiedAt = 0 }: KeyEntry): number {
  return isLatest ? Number.MAX_SAFE_INTEGER : modifiedAt;
}

const partly: Failure = { kind: "unknown_outcome", note: "restored_in_part" };

/** A later upload takes the version `null`, if versioning is suspended, and would be removed in its place. */
function isReusable({ versionId = "null" }: KeyEntry): boolean {
  return versionId === "null";
}

/** Objects from before versioning have a version called `null`. */
function toTarget({ key, versionId = "null" }: KeyEntry) {
  return { key, versionId };
}
