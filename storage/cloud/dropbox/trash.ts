import { asObject, asText, type JsonObject } from "../json.ts";
import type { Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import type { Trash, TrashedItem } from "../trash.ts";
import { toChangeFailure, type Account } from "./account.ts";
import type { DropboxApi } from "./api.ts";
import { parentPathOf, toDropboxItem, toProviderItem } from "./items.ts";

const PAGE_ENTRIES = 2000;
/** Pages that one call reads to find deleted items: a listing has existing items as well. */
const PAGES_MAX = 10;

/**
 * The deleted files and folders of an account. Dropbox restores files only: a folder is restored with the first of
 * its files. An app cannot empty the trash.
 */
export function createTrash(deps: {
  readonly api: DropboxApi;
  readonly account: Account;
  readonly withAccountLock: <T>(work: () => Promise<T>) => Promise<T>;
}): Trash {
  const { api, account, withAccountLock } = deps;

  return {
    async list({ cursor, signal }) {
      const items: TrashedItem[] = [];
      let next = cursor;
      for (let pages = 0; pages < PAGES_MAX && items.length === 0; pages++) {
        const answer =
          next === undefined
            ? await api.ask(
                "files/list_folder",
                { path: "", recursive: true, include_deleted: true, limit: PAGE_ENTRIES },
                signal,
              )
            : await api.ask("files/list_folder/continue", { cursor: next }, signal);
        if (answer.kind === "reset") return { kind: "stale", note: "bad_cursor" };
        if (answer.kind !== "ok") return toChangeFailure(answer);
        const { entries, has_more: hasMore } = answer.value;
        if (!Array.isArray(entries) || typeof hasMore !== "boolean") return strange("strange_page");
        for (const entry of entries) {
          const deleted = toTrashed(asObject(entry));
          if (deleted !== undefined) items.push(deleted);
        }
        next = asText(answer.value["cursor"]);
        if (!hasMore) return { kind: "ok", items, next: undefined };
        if (next === undefined) return strange("strange_cursor");
      }
      return { kind: "ok", items, next };
    },

    restore: ({ id: path, signal }) =>
      withAccountLock(async (): Promise<ItemOutcome> => {
        if (!path.startsWith("/")) return { kind: "stale", note: "impossible_id" };
        const name = path.slice(path.lastIndexOf("/") + 1);
        const existing = await account.lookUp(path, signal);
        if (existing.kind === "ok") return { kind: "conflict", existingName: existing.found.name };
        if (existing.kind !== "not_found") return toChangeFailure(existing);
        // Dropbox would create missing folders.
        const folder = parentPathOf(path);
        const above = folder === "" ? undefined : await account.lookUp(folder, signal);
        if (above !== undefined && above.kind !== "ok") return toChangeFailure(above);
        const parent = above?.found.id ?? "";
        const revisions = await api.ask(
          "files/list_revisions",
          { path, mode: "path", limit: 1 },
          signal,
        );
        if (revisions.kind === "unsupported")
          return { kind: "unsupported", reason: "deleted_folder" };
        if (revisions.kind !== "ok") return toChangeFailure(revisions);
        const { entries } = revisions.value;
        const latest = Array.isArray(entries) ? asObject(entries[0]) : undefined;
        const rev = asText(latest?.["rev"]);
        if (revisions.value["is_deleted"] !== true || rev === undefined)
          return { kind: "stale", note: "not_deleted" };
        const restored = await api.ask("files/restore", { path, rev }, signal);
        if (restored.kind === "conflict") return { ...restored, existingName: name };
        if (restored.kind !== "ok" && restored.kind !== "offline") return toChangeFailure(restored);
        const found = restored.kind === "ok" ? toDropboxItem(restored.value, "file") : undefined;
        if (found !== undefined) return { kind: "ok", item: toProviderItem(found, parent) };
        const current = await account.lookUp(path, signal);
        if (current.kind === "ok")
          return { kind: "ok", item: toProviderItem(current.found, parent) };
        return { kind: "unknown_outcome", note: "lost" };
      }),
  };
}

/** Undefined for an item that is not deleted. Dropbox states neither the kind nor the time of a deleted item. */
function toTrashed(raw: JsonObject | undefined): TrashedItem | undefined {
  const id = asText(raw?.["path_lower"]);
  const name = asText(raw?.["name"]);
  if (raw?.[".tag"] !== "deleted" || id === undefined || name === undefined) return undefined;
  const displayPath = asText(raw["path_display"]) ?? id;
  const names = displayPath.split("/").slice(1, -1);
  return {
    id,
    name,
    kind: undefined,
    from: { kind: "path", names },
    size: undefined,
    deletedAt: undefined,
  };
}

function strange(note: string): Failure {
  return { kind: "offline", sent: true, note };
}
