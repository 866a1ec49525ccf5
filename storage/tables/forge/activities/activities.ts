import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, IssueId, CommentId, ActivityId, RepositoryId } from "../ids.ts";
import { generated, id, now, optional, text, numbered, initial } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

/** The kinds of activities by Gitea's word, with Gitea's numbers. */
export const activityKinds = {
  create_repo: 1,
  rename_repo: 2,
  commit_repo: 5,
  create_issue: 6,
  create_pull_request: 7,
  transfer_repo: 8,
  push_tag: 9,
  comment_issue: 10,
  merge_pull_request: 11,
  close_issue: 12,
  reopen_issue: 13,
  close_pull_request: 14,
  reopen_pull_request: 15,
  delete_tag: 16,
  delete_branch: 17,
  comment_pull: 23,
  publish_release: 24,
} as const;

const activities = defineTable("forge_activities", {
  id: generated(id<ActivityId>()),
  actorId: id<UserId>(),
  repositoryId: id<RepositoryId>(),
  kind: numbered(activityKinds),
  issueId: optional(id<IssueId>()),
  commentId: optional(id<CommentId>()),
  /** In full, such as `refs/heads/main`; the tag of a release, such as `v1`; empty for others. */
  ref: initial("", text()),
  /** The object that a push left the ref at; empty otherwise. */
  objectId: initial("", text()),
  /** A former name, the title of a release, or JSON of the commits of a push; empty until they are read. */
  content: initial("", text()),
  createdAt: now(),
});
/** An activity of a user in a repository. Times are epoch milliseconds. */
export type ForgeActivity = RecordOf<typeof activities>;

/** An activity to record. */
export type NewActivity = Pick<ForgeActivity, "actorId" | "repositoryId" | "kind"> &
  Partial<Pick<ForgeActivity, "issueId" | "commentId" | "ref" | "objectId" | "content">>;

/** Adds an activity to the feeds of these accounts, at the time of the transaction. Returns its id. */
export async function insertActivity(
  tx: Transaction,
  { actorId, repositoryId, kind, ...rest }: NewActivity,
  receiverIds: readonly UserId[],
): Promise<ActivityId> {
  const row = await activities.insert(tx, { actorId, repositoryId, kind, ...rest });
  for (const userId of receiverIds)
    await tx.run(
      `INSERT INTO forge_activity_receivers (${receiverColumns}) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      userId,
      row.id,
      tx.now,
      activityKinds[kind],
      actorId,
      repositoryId,
    );
  return row.id;
}

/**
 * Adds activities of one repository to the feeds of its next watchers, in the order of their ids, without accounts that may
 * not sign in. Idempotent.
 * @param after the id of the last watcher who already has them
 * @returns the id of the last of these watchers; undefined when no watcher is left
 */
export async function insertWatchersOf(
  tx: Transaction,
  { repositoryId, activityIds }: { repositoryId: RepositoryId; activityIds: readonly ActivityId[] },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number | undefined> {
  const last = await tx.get<{ id: ActivityId }>(
    "SELECT user_id AS id FROM forge_watches WHERE repository_id = ? AND user_id > ? ORDER BY user_id LIMIT 1 OFFSET ?",
    repositoryId,
    after,
    limit - 1,
  );
  for (const activityId of activityIds)
    await tx.run(
      `INSERT INTO forge_activity_receivers (${receiverColumns})
       SELECT w.user_id, a.id, a.created_at, a.kind, a.actor_id, a.repository_id
       FROM forge_watches w JOIN forge_users u ON u.id = w.user_id JOIN forge_activities a ON a.id = ?
       WHERE w.repository_id = ? AND w.user_id > ? AND w.user_id <= ? AND u.is_active = 1 AND u.prohibit_login = 0
       ON CONFLICT DO NOTHING`,
      activityId,
      repositoryId,
      after,
      last?.id ?? Number.MAX_SAFE_INTEGER,
    );
  return last?.id;
}

/** Sets the commits of a push if they are not set yet. Idempotent. */
export async function setPushContent(
  db: Queries,
  push: Pick<ForgeActivity, "repositoryId" | "actorId" | "ref" | "objectId" | "createdAt">,
  content: string,
): Promise<void> {
  await activities.update(
    db,
    {
      repositoryId: push.repositoryId,
      createdAt: push.createdAt,
      actorId: push.actorId,
      ref: push.ref,
      objectId: push.objectId,
      content: "",
    },
    { content },
  );
}

/** Deletes up to `limit` activities that are older than a moment, the oldest first. Returns how many there were. */
export async function deleteActivitiesBefore(
  tx: Transaction,
  before: number,
  limit: number,
): Promise<number> {
  return activities.delete(
    tx,
    sql`id IN (SELECT a.id FROM forge_activities a WHERE a.created_at < ${before}
        ORDER BY a.id LIMIT ${limit})`,
  );
}

/** Returns activities by id, in the order of the ids, without deleted ones. */
export async function listActivitiesByIds(
  db: Queries,
  ids: readonly ActivityId[],
): Promise<ForgeActivity[]> {
  if (ids.length === 0) return [];
  const rows = await activities.readAll(
    db,
    `SELECT id, actor_id, repository_id, kind, issue_id, comment_id, ref, object_id, content, created_at
     FROM forge_activities WHERE id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => found.get(id) ?? []);
}

const receiverColumns = "user_id, activity_id, created_at, kind, actor_id, repository_id";
