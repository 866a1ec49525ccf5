import { toTime } from "../accounts/accounts.view.ts";
import { toLinkName, toLinkStatus } from "./link-targets.ts";
import type { LinkDetail } from "./links.service.ts";

/** A link as its owner sees it. */
export function toLinkView(detail: LinkDetail, publicUrl: string, now: number) {
  const { link, target, path, documentIds, topicIds } = detail;
  const item = target !== undefined && "item" in target ? target.item : undefined;
  const toMaybeTime = (at: number | undefined) => (at === undefined ? null : toTime(at));
  return {
    id: link.id,
    url: path === undefined ? null : publicUrl + path,
    kind: link.kind,
    name: toLinkName(link, target),
    status: toLinkStatus(link, target, now),
    document_id: link.documentId ?? null,
    document_ids: [...documentIds],
    connection_id: item?.connectionId ?? null,
    item_id: item?.providerItemId ?? null,
    expires_at: toMaybeTime(link.expiresAt),
    has_password: link.passwordHash !== undefined,
    max_downloads: link.maxDownloads ?? null,
    downloads: link.downloads,
    max_files: link.maxFiles ?? null,
    files: link.files,
    max_bytes: link.maxBytes ?? null,
    received_bytes: link.receivedBytes,
    topic_ids: [...topicIds],
    message: link.message ?? null,
    created_at: toTime(link.createdAt),
    updated_at: toTime(link.updatedAt),
  };
}
