import type { Queries } from "../../../storage/engine/database.ts";
import {
  findDocument,
  listDocumentsOfLink,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { type CloudItem, findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import type { VaultLink } from "../../../storage/tables/vault/links.ts";

/** What a link gives. */
export type LinkTarget =
  | { readonly kind: "document"; readonly document: VaultDocument }
  | { readonly kind: "documents"; readonly documents: readonly VaultDocument[] }
  | { readonly kind: "file" | "folder"; readonly item: CloudItem };

export type LinkStatus = "active" | "expired" | "used_up" | "unavailable";

/** Returns the target of a link to download; undefined when it is deleted or in the trash, and for a link that receives files. */
export async function findLinkTarget(
  db: Queries,
  link: VaultLink,
): Promise<LinkTarget | undefined> {
  if (link.kind === "upload") return undefined;
  if (link.documentId !== undefined) {
    const document = await findDocument(db, link.documentId);
    return document && { kind: "document", document };
  }
  if (link.itemId !== undefined) {
    const item = await findLiveItemByRow(db, link.itemId);
    return item && { kind: item.kind, item };
  }
  const documents = await listDocumentsOfLink(db, link.id);
  return documents.length === 0 ? undefined : { kind: "documents", documents };
}

/** Returns whether a link can be used, and why not. */
export function toLinkStatus(
  link: VaultLink,
  target: LinkTarget | undefined,
  now: number,
): LinkStatus {
  if (link.kind === "download" && target === undefined) return "unavailable";
  if (link.expiresAt !== undefined && link.expiresAt <= now) return "expired";
  const isUsedUp =
    link.downloads >= (link.maxDownloads ?? Infinity) ||
    link.files >= (link.maxFiles ?? Infinity) ||
    link.receivedBytes >= (link.maxBytes ?? Infinity);
  return isUsedUp ? "used_up" : "active";
}

/** Returns the title of a link: its own, else the name of its target. */
export function toLinkName(link: VaultLink, target: LinkTarget | undefined): string {
  if (link.name !== "") return link.name;
  if (link.kind === "upload") return "Send files";
  if (target === undefined) return "";
  switch (target.kind) {
    case "document":
      return target.document.filename;
    case "documents":
      return `${target.documents.length} documents`;
    default:
      return target.item.name;
  }
}
