import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, integer, text, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { TaskId } from "../ids.ts";

const summaries = defineTable("forge_action_summaries", {
  taskId: id<TaskId>(),
  /** Of the step, from 0. */
  number: integer(),
  content: text(),
  /** Of the content, in bytes. */
  size: unread(integer()),
});
/** Markdown that a step has written for the page of its run. */
export type StepSummary = RecordOf<typeof summaries>;

/** Stores the summary of a step in place of an earlier one; an empty one deletes it. */
export async function putSummary(
  tx: Transaction,
  { taskId, number, content }: StepSummary,
): Promise<void> {
  if (content === "") {
    await summaries.delete(tx, { taskId, number });
    return;
  }
  await summaries.upsert(
    tx,
    { taskId, number, content, size: Buffer.byteLength(content) },
    "ON CONFLICT (task_id, number) DO UPDATE SET content = excluded.content, size = excluded.size",
  );
}

/** Returns the bytes of all summaries of a task but one. */
export async function countOtherSummaries(
  db: Queries,
  taskId: TaskId,
  number: number,
): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM forge_action_summaries
     WHERE task_id = ? AND number <> ?`,
    taskId,
    number,
  );
  return row?.bytes ?? 0;
}

/** Returns the next summary of a task after a step; undefined after the last one. */
export const findNextSummary = (
  db: Queries,
  taskId: TaskId,
  after: number,
): Promise<StepSummary | undefined> =>
  summaries.find(db, sql`task_id = ${taskId} AND number > ${after}`, "number");
