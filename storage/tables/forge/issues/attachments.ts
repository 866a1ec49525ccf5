import type { Queries, Transaction } from "../../../engine/database.ts";
import {
  type UserId,
  type IssueId,
  type CommentId,
  type AttachmentId,
  toCommentId,
} from "../ids.ts";

/** A file that is attached to an issue, or to a comment on it. */
export interface ForgeAttachment {
  readonly id: AttachmentId;
  /** Part of its address. */
  readonly uuid: string;
  readonly issueId: IssueId;
  /** Undefined for a file of the issue itself. */
  readonly commentId: CommentId | undefined;
  /** Undefined once the account is deleted. */
  readonly uploaderId: UserId | undefined;
  readonly name: string;
  /** Names the object with its bytes. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
  /** Detected from the bytes; never a type that a browser executes. */
  readonly contentType: string;
  readonly downloadCount: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export type NewAttachment = Omit<ForgeAttachment, "id" | "downloadCount" | "createdAt">;

export async function insertAttachment(
  tx: Transaction,
  attachment: NewAttachment,
): Promise<ForgeAttachment> {
  const row = await tx.get<AttachmentRow>(
    `INSERT INTO forge_attachments (uuid, issue_id, comment_id, uploader_id, name, sha256, size, content_type, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${columns}`,
    attachment.uuid,
    attachment.issueId,
    attachment.commentId ?? null,
    attachment.uploaderId ?? null,
    attachment.name,
    attachment.sha256,
    attachment.size,
    attachment.contentType,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the attachment returned no row");
  return toAttachment(row);
}

/** Finds an attachment of an issue by id, whether it is the issue's own or a comment's. */
export async function findAttachment(
  db: Queries,
  issueId: IssueId,
  id: AttachmentId,
): Promise<ForgeAttachment | undefined> {
  const row = await db.get<AttachmentRow>(
    `SELECT ${columns} FROM forge_attachments WHERE id = ? AND issue_id = ?`,
    id,
    issueId,
  );
  return row && toAttachment(row);
}

export async function findAttachmentByUuid(
  db: Queries,
  uuid: string,
): Promise<ForgeAttachment | undefined> {
  const row = await db.get<AttachmentRow>(
    `SELECT ${columns} FROM forge_attachments WHERE uuid = ?`,
    uuid,
  );
  return row && toAttachment(row);
}

/** Returns the files of an issue itself, oldest first. */
export async function listAttachmentsOfIssue(
  db: Queries,
  issueId: IssueId,
): Promise<ForgeAttachment[]> {
  const rows = await db.all<AttachmentRow>(
    `SELECT ${columns} FROM forge_attachments WHERE issue_id = ? AND comment_id IS NULL ORDER BY id`,
    issueId,
  );
  return rows.map(toAttachment);
}

const idsPerQuery = 50;

/** Returns the files of comments, oldest first, by the comment's id. */
export async function listAttachmentsOfComments(
  db: Queries,
  commentIds: readonly CommentId[],
): Promise<ReadonlyMap<CommentId, readonly ForgeAttachment[]>> {
  const found = new Map<CommentId, ForgeAttachment[]>();
  // Chunks keep the number of distinct statements small.
  for (let at = 0; at < commentIds.length; at += idsPerQuery) {
    const chunk = commentIds.slice(at, at + idsPerQuery);
    const padded = [...chunk, ...Array<number>(idsPerQuery - chunk.length).fill(-1)];
    const rows = await db.all<AttachmentRow>(
      `SELECT ${columns} FROM forge_attachments
       WHERE comment_id IN (${padded.map(() => "?").join(", ")}) ORDER BY id`,
      ...padded,
    );
    for (const attachment of rows.map(toAttachment)) {
      const id = attachment.commentId ?? toCommentId(-1);
      found.set(id, [...(found.get(id) ?? []), attachment]);
    }
  }
  return found;
}

/** Returns how many files an issue has, those of its comments included. */
export async function countAttachments(db: Queries, issueId: IssueId): Promise<number> {
  const row = await db.get<{ files: number }>(
    "SELECT COUNT(*) AS files FROM forge_attachments WHERE issue_id = ?",
    issueId,
  );
  return row?.files ?? 0;
}

export async function renameAttachment(
  tx: Transaction,
  id: AttachmentId,
  name: string,
): Promise<ForgeAttachment | undefined> {
  const row = await tx.get<AttachmentRow>(
    `UPDATE forge_attachments SET name = ? WHERE id = ? RETURNING ${columns}`,
    name,
    id,
  );
  return row && toAttachment(row);
}

/** Deletes an attachment. Idempotent. */
export async function deleteAttachment(tx: Transaction, id: AttachmentId): Promise<void> {
  await tx.run("DELETE FROM forge_attachments WHERE id = ?", id);
}

/** Counts a download. */
export async function countDownload(db: Queries, id: AttachmentId): Promise<void> {
  await db.run("UPDATE forge_attachments SET download_count = download_count + 1 WHERE id = ?", id);
}

interface AttachmentRow {
  id: AttachmentId;
  uuid: string;
  issue_id: IssueId;
  comment_id: CommentId | null;
  uploader_id: UserId | null;
  name: string;
  sha256: string;
  size: number;
  content_type: string;
  download_count: number;
  created_at: number;
}

const columns =
  "id, uuid, issue_id, comment_id, uploader_id, name, sha256, size, content_type, download_count, created_at";

function toAttachment(row: AttachmentRow): ForgeAttachment {
  return {
    id: row.id,
    uuid: row.uuid,
    issueId: row.issue_id,
    commentId: row.comment_id ?? undefined,
    uploaderId: row.uploader_id ?? undefined,
    name: row.name,
    sha256: row.sha256,
    size: row.size,
    contentType: row.content_type,
    downloadCount: row.download_count,
    createdAt: row.created_at,
  };
}
