import type { Queries, Transaction } from "../../engine/database.ts";
import { initial, integer, joined, now, optional, text, textId, unread } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf, type Window } from "../table.ts";
import type { AccountId, DocumentId } from "./ids.ts";

export type LinkKind = "download" | "upload";

const links = defineTable(
  "vault_links AS link",
  {
    id: text(),
    ownerId: textId<AccountId>(),
    ownerHandle: joined("owner.handle", text()),
    kind: text<LinkKind>(),
    /** Empty: the name of the target. */
    name: text(),
    documentId: optional(textId<DocumentId>()),
    itemId: optional(text()),
    secretHash: unread(text()),
    sealedSecret: text(),
    passwordHash: optional(text()),
    expiresAt: optional(integer()),
    maxDownloads: optional(integer()),
    downloads: initial(0, integer()),
    maxFiles: optional(integer()),
    files: initial(0, integer()),
    maxBytes: optional(integer()),
    receivedBytes: initial(0, integer()),
    message: optional(text()),
    /** Uses that the owner was told of. */
    noticedUses: initial(0, integer()),
    noticedAt: optional(integer()),
    createdAt: now(),
    updatedAt: now(),
  },
  "JOIN vault_users AS owner ON owner.id = link.owner_id",
);

/** A link for people without an account. Times are epoch milliseconds. */
export type VaultLink = RecordOf<typeof links>;

export type NewLink = Pick<
  VaultLink,
  | "id"
  | "ownerId"
  | "kind"
  | "name"
  | "documentId"
  | "itemId"
  | "sealedSecret"
  | "passwordHash"
  | "expiresAt"
  | "maxDownloads"
  | "maxFiles"
  | "maxBytes"
  | "message"
> & {
  /** SHA-256 in hex. */
  readonly secretHash: string;
  /** The documents of a link to several, in their order. */
  readonly documentIds: readonly DocumentId[];
  /** The topics of received files. */
  readonly topicIds: readonly string[];
};

export type LinkChanges = Partial<
  Pick<
    VaultLink,
    "name" | "passwordHash" | "expiresAt" | "maxDownloads" | "maxFiles" | "maxBytes" | "message"
  >
>;

const linkDocuments = defineTable("vault_link_documents", {
  linkId: text(),
  documentId: textId<DocumentId>(),
  position: integer(),
});

const linkTopics = defineTable("vault_link_topics", { linkId: text(), topicId: text() });

export async function insertLink(
  tx: Transaction,
  { documentIds, topicIds, ...link }: NewLink,
): Promise<void> {
  await links.insert(tx, link);
  for (const [position, documentId] of documentIds.entries())
    await linkDocuments.insert(tx, { linkId: link.id, documentId, position });
  await setLinkTopics(tx, link.id, topicIds);
}

/** Replaces the topics of received files. */
export async function setLinkTopics(
  tx: Transaction,
  linkId: string,
  topicIds: readonly string[],
): Promise<void> {
  await linkTopics.delete(tx, { linkId });
  for (const topicId of topicIds) await linkTopics.insert(tx, { linkId, topicId });
}

/** Returns the link of an id, without checking its owner. */
export const findLink = (db: Queries, id: string): Promise<VaultLink | undefined> =>
  links.find(db, { id });

/** Returns the link of a secret whose owner is an active user: administrators have no files. */
export const findLinkBySecret = (db: Queries, secretHash: string): Promise<VaultLink | undefined> =>
  links.find(
    db,
    sql`link.secret_hash = ${secretHash} AND owner.is_active = 1 AND owner.role = 'user'`,
  );

/** Returns one page of a user's links, newest first, and the number of all. */
export async function listLinks(
  db: Queries,
  ownerId: AccountId,
  filter: { readonly kind?: LinkKind | undefined; readonly documentId?: DocumentId | undefined },
  page: Window,
): Promise<{ readonly links: readonly VaultLink[]; readonly total: number }> {
  const { kind, documentId } = filter;
  const where = sql`link.owner_id = ${ownerId}
    AND ${kind === undefined ? sql`1 = 1` : sql`link.kind = ${kind}`}
    AND ${
      documentId === undefined
        ? sql`1 = 1`
        : sql`(link.document_id = ${documentId} OR EXISTS (SELECT 1 FROM vault_link_documents AS part
            WHERE part.link_id = link.id AND part.document_id = ${documentId}))`
    }`;
  const order = "link.created_at DESC, link.id DESC";
  const { records, total } = await links.page(db, where, { ...page, order });
  return { links: records, total };
}

export const countLinks = (db: Queries, ownerId: AccountId): Promise<number> =>
  links.count(db, sql`link.owner_id = ${ownerId}`);

/** Returns the ids of the documents of a link to several, in their order; without those that were deleted. */
export async function listLinkDocuments(db: Queries, linkId: string): Promise<DocumentId[]> {
  const rows = await linkDocuments.list(db, { linkId }, { order: "position" });
  return rows.map(({ documentId }) => documentId);
}

/** Returns the ids of the topics that received files get. */
export async function listLinkTopics(db: Queries, linkId: string): Promise<string[]> {
  const rows = await linkTopics.list(db, { linkId }, { order: "topic_id" });
  return rows.map(({ topicId }) => topicId);
}

/** Changes a link. Returns false when it does not exist. */
export async function updateLink(
  tx: Transaction,
  id: string,
  changes: LinkChanges,
): Promise<boolean> {
  return (await links.update(tx, { id }, { ...changes, updatedAt: tx.now })) > 0;
}

/** Revokes a link. Returns false when it does not exist. */
export async function deleteLink(tx: Transaction, id: string): Promise<boolean> {
  return (await links.delete(tx, { id })) > 0;
}

/** Counts one download. Returns false when the limit is reached, or the link does not exist. */
export async function countDownload(tx: Transaction, id: string): Promise<boolean> {
  return (
    (await links.update(
      tx,
      sql`id = ${id} AND (max_downloads IS NULL OR downloads < max_downloads)`,
      { downloads: sql`downloads + 1` },
    )) > 0
  );
}

/** Counts a received file. Returns false when a limit is reached, or the link does not exist. */
export async function countReceived(tx: Transaction, id: string, bytes: number): Promise<boolean> {
  return (
    (await links.update(
      tx,
      sql`id = ${id} AND (max_files IS NULL OR files < max_files)
        AND (max_bytes IS NULL OR received_bytes + ${bytes} <= max_bytes)`,
      { files: sql`files + 1`, receivedBytes: sql`received_bytes + ${bytes}` },
    )) > 0
  );
}

/** Records how many uses of a link its owner was told of. */
export async function noteNotice(tx: Transaction, id: string, uses: number): Promise<void> {
  await links.update(tx, { id }, { noticedUses: uses, noticedAt: tx.now });
}

const downloads = defineTable("vault_link_downloads", {
  id: text(),
  linkId: text(),
  address: text(),
  /** `broken`: its visitor may repeat it until it expires. */
  state: text<"sending" | "broken">(),
  expiresAt: integer(),
});

/** A download of a link with a limit that is under way or broke off. */
export type LinkDownload = RecordOf<typeof downloads>;

export async function insertLinkDownload(tx: Transaction, download: LinkDownload): Promise<void> {
  await downloads.insert(tx, download);
}

/** Takes over a download of a visitor that broke off; returns its id. */
export async function resumeLinkDownload(
  tx: Transaction,
  { linkId, address }: Pick<LinkDownload, "linkId" | "address">,
  expiresAt: number,
): Promise<string | undefined> {
  const found = await downloads.find(
    tx,
    sql`link_id = ${linkId} AND address = ${address} AND state = 'broken' AND expires_at > ${tx.now}`,
    "id",
  );
  if (found === undefined) return undefined;
  const changes = { state: "sending" as const, expiresAt };
  const taken = await downloads.update(tx, { id: found.id, state: "broken" }, changes);
  return taken > 0 ? found.id : undefined;
}

/** Ends a download: a complete one is forgotten, one that broke off may be repeated. */
export async function endLinkDownload(
  db: Queries,
  id: string,
  { isComplete }: { readonly isComplete: boolean },
): Promise<void> {
  if (isComplete) await downloads.delete(db, { id });
  else await downloads.update(db, { id, state: "sending" }, { state: "broken" });
}

/** Lets downloads be repeated that a killed daemon was sending. Returns their number. */
export const breakAllLinkDownloads = (db: Queries): Promise<number> =>
  downloads.update(db, { state: "sending" }, { state: "broken" });

/** Deletes downloads that may no longer be repeated; returns their number. */
export const deleteExpiredLinkDownloads = (db: Queries, before: number): Promise<number> =>
  downloads.delete(db, sql`expires_at <= ${before}`);
