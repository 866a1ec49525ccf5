import { lockRow } from "../lock-row.ts";
import { toContains } from "../../contains.ts";
import type { Database, Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { MilestoneId, RepositoryId } from "../ids.ts";
import { inChunksOfIds } from "../../chunks.ts";
import { derived, flag, generated, id, integer, now, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const countOf = (isClosed: 0 | 1): string =>
  `(SELECT COUNT(*) FROM forge_issues i WHERE i.milestone_id = m.id AND i.is_closed = ${isClosed})`;

const milestones = defineTable("forge_milestones AS m", {
  id: generated(id<MilestoneId>()),
  repositoryId: id<RepositoryId>(),
  title: text(),
  description: text(),
  isClosed: flag(),
  dueAt: optional(integer()),
  closedAt: optional(integer()),
  createdAt: now(),
  updatedAt: now(),
  openIssueCount: derived(countOf(0), integer()),
  closedIssueCount: derived(countOf(1), integer()),
});
/** A milestone of a repository with the numbers of its issues. Times are epoch milliseconds. */
export type ForgeMilestone = RecordOf<typeof milestones>;

/** The members of a milestone that its users set. */
export type MilestoneFields = Pick<ForgeMilestone, "title" | "description" | "isClosed" | "dueAt">;

/**
 * Adds a milestone to a repository. One that is visible earlier has the lower id. Times that an import does not give are those of
 * the transaction.
 */
export async function insertMilestone(
  tx: Transaction,
  repositoryId: RepositoryId,
  fields: MilestoneFields & {
    readonly createdAt?: number | undefined;
    readonly closedAt?: number | undefined;
  },
): Promise<ForgeMilestone> {
  const { createdAt = tx.now, closedAt = tx.now } = fields;
  await lockRow(tx, "forge_repositories", repositoryId);
  const row = await tx.get<{ id: MilestoneId }>(
    `INSERT INTO forge_milestones (repository_id, title, description, is_closed, due_at, closed_at, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    repositoryId,
    fields.title,
    fields.description,
    Number(fields.isClosed),
    fields.dueAt ?? null,
    fields.isClosed ? closedAt : null,
    createdAt,
    tx.now,
  );
  const milestone = row && (await findMilestone(tx, repositoryId, { id: row.id }));
  if (milestone === undefined) throw new Error("the milestone was not added");
  return milestone;
}

/** Writes the given members and the time. */
export async function updateMilestone(
  tx: Transaction,
  before: ForgeMilestone,
  changes: Partial<MilestoneFields>,
): Promise<void> {
  const { isClosed = before.isClosed } = changes;
  const closing = isClosed === before.isClosed ? {} : { closedAt: isClosed ? tx.now : undefined };
  await milestones.update(tx, { id: before.id }, { ...changes, ...closing, updatedAt: tx.now });
}

/** Deletes a milestone and clears the milestone of its issues. */
export async function deleteMilestone(tx: Transaction, id: MilestoneId): Promise<void> {
  await milestones.delete(tx, { id });
}

/** Returns the milestone with this id, or else with this title, of a repository. */
export async function findMilestone(
  db: Queries,
  repositoryId: RepositoryId,
  by: { readonly id: MilestoneId } | { readonly title: string },
): Promise<ForgeMilestone | undefined> {
  return milestones.readOne(
    db,
    `SELECT ${milestones.columns} FROM forge_milestones m
     WHERE m.repository_id = ? AND ${"id" in by ? "m.id" : "m.title"} = ? ORDER BY m.id LIMIT 1`,
    repositoryId,
    "id" in by ? by.id : by.title,
  );
}

export async function listMilestonesByIds(
  db: Queries,
  ids: readonly MilestoneId[],
): Promise<ReadonlyMap<MilestoneId, ForgeMilestone>> {
  const rows = await inChunksOfIds(ids, (id) => milestones.list(db, { id }));
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns a page of the milestones whose title contains `term`: the next due first, those without a date last. */
export async function listMilestones(
  db: Database,
  repositoryId: RepositoryId,
  filter: { readonly isClosed: boolean | undefined; readonly term: string },
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly milestones: readonly ForgeMilestone[]; readonly total: number }> {
  const conditions = ["m.repository_id = ?"];
  const values: SqlValue[] = [repositoryId];
  if (filter.isClosed !== undefined) {
    conditions.push("m.is_closed = ?");
    values.push(Number(filter.isClosed));
  }
  if (filter.term !== "") {
    const contains = toContains(db.dialect, "m.title", filter.term);
    conditions.push(contains.sql);
    values.push(...contains.values);
  }
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_milestones m WHERE ${where}`,
    ...values,
  );
  const rows = await milestones.readAll(
    db,
    `SELECT ${milestones.columns} FROM forge_milestones m WHERE ${where}
     ORDER BY CASE WHEN m.due_at IS NULL THEN 1 ELSE 0 END, m.due_at, m.title, m.id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { milestones: rows, total: counted?.total ?? 0 };
}
