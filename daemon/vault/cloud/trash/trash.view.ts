import { toFailureReply } from "../outcome.view.ts";
import type { EmptyResult, RestoreResult, TrashPage } from "./trash.service.ts";

export function toTrashReply(page: TrashPage) {
  if (page.kind !== "ok") return toFailureReply(page);
  const items = page.items.map(({ item, folders }) => ({
    trash_id: item.id,
    name: item.name,
    kind: item.kind ?? null,
    location: folders === undefined ? null : folders.length === 0 ? "/" : `/${folders.join("/")}`,
    size: item.size ?? null,
    deleted_at: item.deletedAt === undefined ? null : new Date(item.deletedAt).toISOString(),
  }));
  return { status: 200, body: { items, next_cursor: page.next ?? null } } as const;
}

export function toRestoreReply(result: RestoreResult) {
  if (result.kind !== "restored") return toFailureReply(result);
  const { id, name, parent } = result.item;
  return {
    status: 200,
    body: {
      kind: "restored",
      provider_item_id: id,
      name,
      parent_ref: parent === "" ? null : parent,
    },
  } as const;
}

export function toEmptyReply(result: EmptyResult) {
  if (result.kind !== "emptied") return toFailureReply(result);
  return {
    status: 200,
    body: { kind: "emptied", removed: result.removed ?? null, has_more: !result.isComplete },
  } as const;
}
