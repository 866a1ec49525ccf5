import { asObject, asText, asTime } from "../json.ts";
import type { ItemOutcome } from "../item.ts";
import { TRASH_PAGE_ITEMS, type Trash, type TrashedItem } from "../trash.ts";
import { pathOf, type Drive } from "./drive.ts";
import { toChangeFailure } from "./failures.ts";
import { FIELDS, toDriveFile } from "./items.ts";
import type { Names } from "./names.ts";

/** The user's trash. Drive empties it by itself after 30 days. */
export function createTrash(deps: {
  readonly drive: Drive;
  readonly names: Names;
  readonly rootId: string;
}): Trash {
  const { drive, names, rootId } = deps;
  const strange = { kind: "offline", sent: true, note: "strange_answer" } as const;

  return {
    async list({ cursor, signal }) {
      const query = {
        q: "trashed = true and 'me' in owners",
        pageSize: String(TRASH_PAGE_ITEMS),
        fields: `nextPageToken,files(${FIELDS},explicitlyTrashed,trashedTime)`,
      };
      const answer = await drive.api.callJson({
        method: "GET",
        service: "v3",
        path: "/files",
        query: cursor === undefined ? query : { ...query, pageToken: cursor },
        signal,
      });
      // A page token that Drive did not make.
      if (answer.kind === "bad_request" && cursor !== undefined)
        return { kind: "stale", note: "bad_cursor" };
      if (answer.kind !== "ok") return toChangeFailure(answer);
      const { files, nextPageToken } = answer.value;
      if (!Array.isArray(files)) return strange;
      const items: TrashedItem[] = [];
      for (const value of files as readonly unknown[]) {
        // The contents of a trashed folder are trashed and restored with it.
        const raw = asObject(value);
        if (raw?.["explicitlyTrashed"] === false) continue;
        const file = toDriveFile(value, rootId);
        if (file === undefined) return strange;
        const { id, name, kind, parent, size } = file.item;
        items.push({
          id,
          name,
          kind,
          from: file.parentId === undefined ? undefined : { kind: "folder", id: parent },
          size,
          deletedAt: asTime(raw?.["trashedTime"]),
        });
      }
      return { kind: "ok", items, next: asText(nextPageToken) };
    },

    async restore({ id, signal }): Promise<ItemOutcome> {
      const found = await drive.lookUp(id, signal);
      if (found.kind !== "ok") return toChangeFailure(found);
      if (!found.file.isTrashed) return { kind: "stale", note: "not_in_trash" };
      const { parent, name } = found.file.item;
      const folder = await drive.lookUpParent(parent, signal);
      if (folder.kind !== "ok") return { kind: "stale", note: "parent_gone" };
      const free = await names.isFree(parent, name, id, signal);
      if (free.kind !== "ok") return toChangeFailure(free);
      if (!free.isFree) return { kind: "conflict", existingName: name };
      const put = (trashed: boolean) =>
        drive.change(
          { method: "PATCH", service: "v3", path: pathOf(id), body: { trashed } },
          signal,
        );
      let restored = await put(false);
      if (restored.kind === "offline") restored = await drive.lookUp(id, signal);
      if (restored.kind !== "ok") return toChangeFailure(restored);
      if (restored.file.isTrashed) return { kind: "unknown_outcome", note: "not_restored" };
      const nameCheck = await names.isFree(parent, name, id, signal);
      if (nameCheck.kind === "ok" && !nameCheck.isFree) {
        // Another client took the name meanwhile.
        const back = await put(true);
        return back.kind === "ok"
          ? { kind: "conflict", existingName: name }
          : { kind: "unknown_outcome", note: "not_put_back" };
      }
      return { kind: "ok", item: restored.file.item };
    },

    async empty({ signal }) {
      const emptied = await drive.api.callJson({
        method: "DELETE",
        service: "v3",
        path: "/files/trash",
        signal,
      });
      if (emptied.kind !== "ok") return toChangeFailure(emptied);
      return { kind: "ok", removed: undefined, isComplete: true };
    },
  };
}
