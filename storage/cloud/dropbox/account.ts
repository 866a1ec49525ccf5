import { asObject, asText } from "../json.ts";
import type { Failure, ReadFailure } from "../outcomes.ts";
import { createListedItems } from "../listed-items.ts";
import type { ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import type { DropboxApi } from "./api.ts";
import type { DropboxFailure } from "./failures.ts";
import { isId, parentPathOf, toDropboxItem, toProviderItem, type DropboxItem } from "./items.ts";

export type Look = { readonly kind: "ok"; readonly found: DropboxItem } | DropboxFailure;

export type Account = ReturnType<typeof createAccount>;

const PAGE_ITEMS = 2000;
const RESETS_MAX = 2;

/** Looks up items of one account. */
export function createAccount(api: DropboxApi) {
  async function lookUp(place: string, signal: AbortSignal): Promise<Look> {
    // Paths are stored in NFC and found in that form only.
    const path = place.normalize("NFC");
    const answer = await api.ask("files/get_metadata", { path }, signal);
    if (answer.kind !== "ok") return answer;
    const found = toDropboxItem(answer.value);
    return found === undefined ? strange("strange_item") : { kind: "ok", found };
  }

  const lookById = (id: string, signal: AbortSignal): Promise<Look> =>
    isId(id) ? lookUp(id, signal) : Promise.resolve({ kind: "not_found", note: "impossible_id" });

  async function withParent(found: DropboxItem, signal: AbortSignal) {
    const path = parentPathOf(found.path);
    if (path === "") return { kind: "ok", found, item: toProviderItem(found, "") } as const;
    const parent = await lookUp(path, signal);
    if (parent.kind !== "ok") return parent;
    return { kind: "ok", found, item: toProviderItem(found, parent.found.id) } as const;
  }

  async function listOnce(
    folder: string,
    signal: AbortSignal,
  ): Promise<ListOutcome | { readonly kind: "reset" }> {
    const accumulated = createListedItems<ProviderItem>();
    const argument = {
      path: folder,
      limit: PAGE_ITEMS,
      include_non_downloadable_files: true,
      include_mounted_folders: true,
    };
    let answer = await api.ask("files/list_folder", argument, signal);
    for (;;) {
      if (answer.kind === "reset") return answer;
      if (answer.kind !== "ok") return toChangeFailure(answer);
      const { entries, has_more: hasMore } = answer.value;
      if (!Array.isArray(entries) || typeof hasMore !== "boolean") return strange("strange_page");
      for (const entry of entries) {
        const raw = asObject(entry);
        if (raw?.[".tag"] === "deleted") continue;
        const found = raw && toDropboxItem(raw);
        if (found === undefined) return strange("strange_item");
        const item = toProviderItem(found, folder);
        const failure = accumulated.add(item, item);
        if (failure !== undefined) return failure;
      }
      const failure = accumulated.endPage();
      if (failure !== undefined) return failure;
      if (!hasMore) return { kind: "ok", items: accumulated.values() };
      const cursor = asText(answer.value["cursor"]);
      if (cursor === undefined) return strange("strange_cursor");
      answer = await api.ask("files/list_folder/continue", { cursor }, signal);
    }
  }

  return {
    /** Looks up an item by id or by path. */
    lookUp: (place: string, signal: AbortSignal): Promise<Look> =>
      place.startsWith("/") ? lookUp(place, signal) : lookById(place, signal),

    /** Looks up an item and its folder's id, which takes a second request unless it is in the root. */
    async lookWithParent(
      id: string,
      signal: AbortSignal,
    ): Promise<
      | { readonly kind: "ok"; readonly found: DropboxItem; readonly item: ProviderItem }
      | DropboxFailure
    > {
      const current = await lookById(id, signal);
      return current.kind === "ok" ? withParent(current.found, signal) : current;
    },

    /** Completes a found item with its folder's id. */
    withParent,

    /** Returns the path of a folder; empty for the root. `stale` when it is not a folder. */
    async pathOfFolder(
      id: string,
      signal: AbortSignal,
    ): Promise<{ readonly kind: "ok"; readonly path: string } | DropboxFailure> {
      if (id === "") return { kind: "ok", path: "" };
      const current = await lookById(id, signal);
      if (current.kind !== "ok") return current;
      return current.found.kind === "folder"
        ? { kind: "ok", path: current.found.path }
        : { kind: "stale", note: "no_folder" };
    },

    async list(folder: string, signal: AbortSignal): Promise<ListOutcome> {
      if (folder !== "" && !isId(folder)) return { kind: "stale", note: "impossible_id" };
      for (let resets = 0; resets <= RESETS_MAX; resets++) {
        const listing = await listOnce(folder, signal);
        if (listing.kind !== "reset") return listing;
      }
      return strange("reset_again");
    },
  };
}

/** Maps a missing item to the failure of a change of a known item, or below a known folder. */
export function toChangeFailure(failure: DropboxFailure): Failure {
  switch (failure.kind) {
    case "not_found":
      return { ...failure, kind: "stale" };
    case "reset":
    case "incorrect_offset":
      return strange(failure.kind);
    default:
      return failure;
  }
}

/** Maps a missing item to the failure of a lookup. */
export function toLookFailure(failure: DropboxFailure): ReadFailure {
  return failure.kind === "not_found" ? failure : toChangeFailure(failure);
}

function strange(note: string): Extract<Failure, { kind: "offline" }> {
  return { kind: "offline", sent: true, note };
}
