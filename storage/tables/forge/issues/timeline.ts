import { z } from "zod";
import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { sql } from "../../condition.ts";
import { type Reader, toReadable } from "../repositories/readable.ts";
import type { UserId, IssueId, CommentId, ReviewId } from "../ids.ts";
import { comments, type ForgeComment } from "./comments.ts";
import { issues } from "./issues.ts";

/** The kinds of entries of a timeline, by their wire names; `comment` is a comment, the others are events. */
const timelineKinds = [
  "comment",
  "reopen",
  "close",
  "label",
  "milestone",
  "assignees",
  "change_title",
  "change_issue_ref",
  "added_deadline",
  "modified_deadline",
  "removed_deadline",
  "lock",
  "unlock",
  "pin",
  "unpin",
  "add_dependency",
  "remove_dependency",
  "start_tracking",
  "stop_tracking",
  "cancel_tracking",
  "add_time_manual",
  "delete_time_manual",
  "commit_ref",
  "issue_ref",
  "comment_ref",
  "pull_ref",
  "pull_push",
  "change_target_branch",
  "delete_branch",
  "merge_pull",
  "review",
  "review_request",
  "dismiss_review",
  "pull_scheduled_merge",
  "pull_cancel_scheduled_merge",
] as const;
export type TimelineKind = (typeof timelineKinds)[number];

const eventDetails = z.object({
  /** The label as it was when the event happened. */
  label: z
    .object({
      id: z.int().brand<"LabelId">(),
      name: z.string(),
      color: z.string(),
      description: z.string(),
    })
    .optional(),
  milestoneId: z.int().brand<"MilestoneId">().optional(),
  oldMilestoneId: z.int().brand<"MilestoneId">().optional(),
  /** Also the reviewer who was asked. */
  assigneeId: z.int().brand<"UserId">().optional(),
  /** The team that was asked for a review. */
  teamId: z.int().brand<"TeamId">().optional(),
  reviewId: z.int().brand<"ReviewId">().optional(),
  /** Whether the label or the assignee was taken away. */
  removed: z.boolean().optional(),
  oldTitle: z.string().optional(),
  newTitle: z.string().optional(),
  oldRef: z.string().optional(),
  newRef: z.string().optional(),
  /** Epoch milliseconds. */
  dueAt: z.int().optional(),
  oldDueAt: z.int().optional(),
  /** Why an issue was locked. */
  reason: z.string().optional(),
  /** The other issue of a dependency. */
  dependentIssueId: z.int().brand<"IssueId">().optional(),
  /** Tracked time that was added or deleted. */
  seconds: z.int().optional(),
  trackedTimeId: z.int().brand<"TrackedTimeId">().optional(),
  /** The commit that names, closed or reopened the issue. */
  commitId: z.string().optional(),
  /** A link to that commit, in HTML. */
  commitLink: z.string().optional(),
  /** The new commits of a push, the oldest first. Its commits before and after are `oldRef` and `newRef`. */
  commitIds: z.array(z.string()).optional(),
  isForcePush: z.boolean().optional(),
  /** What a merge of the pull request that names the issue does to it. */
  refAction: z.enum(["none", "closes", "reopens"]).optional(),
});
/** The facts of an event; each kind has its own. */
export type EventDetails = z.output<typeof eventDetails>;

export type ReferenceAction = NonNullable<EventDetails["refAction"]>;

/** An event to be recorded. */
export interface NewEvent {
  readonly kind: Exclude<TimelineKind, "comment">;
  readonly details?: EventDetails;
}

/** An entry of a timeline. Times are epoch milliseconds. The body is empty but for comments and reviews. */
export type TimelineEntry = Omit<ForgeComment, "issueId" | "originalAuthor"> & {
  readonly kind: TimelineKind;
  readonly details: EventDetails;
  /** The issue, and the comment on it, that names this one. */
  readonly refIssueId: IssueId | undefined;
  readonly refCommentId: CommentId | undefined;
};

/** Records events of an issue, in order. */
export async function insertEvents(
  tx: Transaction,
  issueId: IssueId,
  authorId: UserId,
  events: readonly NewEvent[],
): Promise<void> {
  for (const { kind, details = {} } of events)
    await comments.insert(tx, {
      issueId,
      authorId,
      body: "",
      kind,
      details: JSON.stringify(details),
    });
}

/** Records once that a text names an issue; if it is recorded already, it gets the action. */
export async function insertReference(
  tx: Transaction,
  reference: {
    readonly issueId: IssueId;
    readonly authorId: UserId;
    readonly kind: "issue_ref" | "pull_ref" | "comment_ref";
    readonly refIssueId: IssueId;
    /** Undefined for a title or a description. */
    readonly refCommentId: CommentId | undefined;
    readonly action: ReferenceAction;
  },
): Promise<void> {
  const { action, ...row } = reference;
  await comments.upsert(
    tx,
    { ...row, body: "", details: JSON.stringify({ refAction: action } satisfies EventDetails) },
    `ON CONFLICT (issue_id, ref_issue_id, COALESCE(ref_comment_id, 0)) WHERE ref_issue_id IS NOT NULL
     DO UPDATE SET details = excluded.details`,
  );
}

/** Records that a review was submitted or dismissed, with its text. Returns the id of the entry. */
export async function insertReviewEntry(
  tx: Transaction,
  {
    reviewId,
    ...entry
  }: {
    readonly issueId: IssueId;
    readonly authorId: UserId;
    readonly kind: "review" | "dismiss_review";
    readonly body: string;
    readonly reviewId: ReviewId;
  },
): Promise<CommentId> {
  const details = JSON.stringify({ reviewId } satisfies EventDetails);
  const { id } = await comments.insert(tx, { ...entry, details });
  // A review counts as a comment, as in the reference.
  const commentCount = entry.kind === "review" ? sql`comment_count + 1` : sql`comment_count`;
  await issues.update(tx, { id: entry.issueId }, { commentCount, updatedAt: tx.now });
  return id;
}

/** Records a review of another server with its times. Returns the id of the entry. */
export async function insertImportedReviewEntry(
  tx: Transaction,
  { reviewId, ...entry }: Omit<ForgeComment, "id"> & { readonly reviewId: ReviewId },
): Promise<CommentId> {
  const details = JSON.stringify({ reviewId } satisfies EventDetails);
  const { id } = await comments.insert(tx, { ...entry, kind: "review", details });
  await issues.update(tx, { id: entry.issueId }, { commentCount: sql`comment_count + 1` });
  return id;
}

/** Returns whether an issue has an event of this kind that a commit caused. */
export const hasCommitEvent = (
  db: Queries,
  issueId: IssueId,
  kind: TimelineKind,
  commitId: string,
): Promise<boolean> =>
  comments.exists(
    db,
    sql`issue_id = ${issueId} AND kind = ${kind} AND details LIKE ${`%"commitId":"${commitId}"%`}`,
  );

/** Returns whether the newest push in a timeline led from one commit to another. */
export async function hasPushEvent(
  db: Queries,
  issueId: IssueId,
  { oldRef, newRef }: { readonly oldRef: string; readonly newRef: string },
): Promise<boolean> {
  const row = await db.get<{ details: string }>(
    `SELECT details FROM forge_issue_comments WHERE issue_id = ? AND kind = 'pull_push' ORDER BY id DESC LIMIT 1`,
    issueId,
  );
  const last = row && eventDetails.parse(JSON.parse(row.details));
  return last?.oldRef === oldRef && last.newRef === newRef;
}

/** Range of the last change of entries in epoch milliseconds, both ends included. */
export interface TimelineFilter {
  readonly issueId: IssueId;
  readonly since?: number | undefined;
  readonly before?: number | undefined;
  readonly reader: Reader;
  readonly isPublicOnly: boolean;
}

/** Returns a page of the comments and events of an issue, oldest first, and the total count, without references of repositories that the reader may not read. */
export async function listTimeline(
  db: Queries,
  { issueId, since, before, reader, isPublicOnly }: TimelineFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly entries: readonly TimelineEntry[]; readonly total: number }> {
  // Comments on lines are shown with their review.
  const conditions = ["issue_id = ?", "kind <> 'code'"];
  const values: SqlValue[] = [issueId];
  if (since !== undefined) {
    conditions.push("updated_at >= ?");
    values.push(since);
  }
  if (before !== undefined) {
    conditions.push("updated_at <= ?");
    values.push(before);
  }
  const issuesReadable = toReadable(reader, isPublicOnly, "repo.issues");
  const pullsReadable = toReadable(reader, isPublicOnly, "repo.pulls");
  conditions.push(`(ref_issue_id IS NULL OR EXISTS (
    SELECT 1 FROM forge_issues i JOIN forge_repositories r ON r.id = i.repository_id
    JOIN forge_users u ON u.id = r.owner_id
    WHERE i.id = ref_issue_id AND ((i.is_pull = 0 AND ${issuesReadable.sql}) OR (i.is_pull = 1 AND ${pullsReadable.sql}))))`);
  values.push(...issuesReadable.values, ...pullsReadable.values);
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_issue_comments WHERE ${where}`,
    ...values,
  );
  const rows = await db.all<TimelineRow>(
    `SELECT ${comments.columns}, kind, details, ref_issue_id, ref_comment_id
     FROM forge_issue_comments WHERE ${where} ORDER BY created_at, id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { entries: rows.map(toEntry), total: counted?.total ?? 0 };
}

interface TimelineRow {
  kind: string;
  details: string;
  ref_issue_id: IssueId | null;
  ref_comment_id: CommentId | null;
}

function toEntry(row: TimelineRow): TimelineEntry {
  const kind = timelineKinds.find((candidate) => candidate === row.kind);
  if (kind === undefined) throw new Error(`unknown kind of a timeline entry: ${row.kind}`);
  return {
    ...comments.read(row),
    kind,
    details: row.details === "" ? {} : eventDetails.parse(JSON.parse(row.details)),
    refIssueId: row.ref_issue_id ?? undefined,
    refCommentId: row.ref_comment_id ?? undefined,
  };
}
