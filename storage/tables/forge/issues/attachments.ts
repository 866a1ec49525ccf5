import type { Queries, Transaction } from "../../../engine/database.ts";
import {
  type UserId,
  type IssueId,
  type CommentId,
  type AttachmentId,
  toCommentId,
} from "../ids.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { generated, id, integer, now, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const attachments = defineTable("forge_attachments", {
  id: generated(id<AttachmentId>()),
  /** Part of its address. */
  uuid: text(),
  issueId: id<IssueId>(),
  /** Undefined for a file of the issue itself. */
  commentId: optional(id<CommentId>()),
  /** Undefined once the account is deleted. */
  uploaderId: optional(id<UserId>()),
  name: text(),
  /** Names the object with its bytes. */
  sha256: text(),
  /** In bytes. */
  size: integer(),
  /** Detected from the bytes; never a type that a browser executes. */
  contentType: text(),
  downloadCount: generated(integer()),
  /** Epoch milliseconds. */
  createdAt: now(),
});
/** A file that is attached to an issue, or to a comment on it. */
export type ForgeAttachment = RecordOf<typeof attachments>;

export type NewAttachment = Omit<ForgeAttachment, "id" | "downloadCount" | "createdAt">;

export async function insertAttachment(
  tx: Transaction,
  attachment: NewAttachment,
): Promise<ForgeAttachment> {
  return attachments.insert(tx, attachment);
}

/** Finds an attachment of an issue by id, whether it is the issue's own or a comment's. */
export async function findAttachment(
  db: Queries,
  issueId: IssueId,
  id: AttachmentId,
): Promise<ForgeAttachment | undefined> {
  return attachments.find(db, { id, issueId });
}

export async function findAttachmentByUuid(
  db: Queries,
  uuid: string,
): Promise<ForgeAttachment | undefined> {
  return attachments.find(db, { uuid });
}

/** Returns the files of an issue itself, oldest first. */
export async function listAttachmentsOfIssue(
  db: Queries,
  issueId: IssueId,
): Promise<ForgeAttachment[]> {
  return attachments.list(db, { issueId, commentId: undefined }, { order: "id" });
}

/** Returns the files of issues themselves, oldest first, by the id of the issue. */
export async function listAttachmentsOfIssues(
  db: Queries,
  issueIds: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, readonly ForgeAttachment[]>> {
  const found = await inChunksOfIds(issueIds, (issueId) =>
    attachments.list(db, { issueId, commentId: undefined }, { order: "id" }),
  );
  return Map.groupBy(found, ({ issueId }) => issueId);
}

/** Returns the files of comments, oldest first, by the comment's id. */
export async function listAttachmentsOfComments(
  db: Queries,
  commentIds: readonly CommentId[],
): Promise<ReadonlyMap<CommentId, readonly ForgeAttachment[]>> {
  const found = await inChunksOfIds(commentIds, (commentId) =>
    attachments.list(db, { commentId }, { order: "id" }),
  );
  return Map.groupBy(found, ({ commentId = toCommentId(-1) }) => commentId);
}

/** Returns how many files an issue has, those of its comments included. */
export async function countAttachments(db: Queries, issueId: IssueId): Promise<number> {
  return attachments.count(db, { issueId });
}

export async function renameAttachment(
  tx: Transaction,
  id: AttachmentId,
  name: string,
): Promise<ForgeAttachment | undefined> {
  return attachments.readOne(
    tx,
    `UPDATE forge_attachments SET name = ? WHERE id = ? RETURNING ${attachments.columns}`,
    name,
    id,
  );
}

/** Deletes an attachment. Idempotent. */
export async function deleteAttachment(tx: Transaction, id: AttachmentId): Promise<void> {
  await attachments.delete(tx, { id });
}

/** Counts a download. */
export async function countDownload(db: Queries, id: AttachmentId): Promise<void> {
  await attachments.update(db, { id }, { downloadCount: sql`download_count + 1` });
}
