import type { Queries, Transaction } from "../../../engine/database.ts";
import type { TaskId } from "../ids.ts";

/** Markdown that a step has written for the page of its run. */
export interface StepSummary {
  readonly taskId: TaskId;
  /** Of the step, from 0. */
  readonly number: number;
  readonly content: string;
}

/** Stores the summary of a step in place of an earlier one; an empty one deletes it. */
export async function putSummary(
  tx: Transaction,
  { taskId, number, content }: StepSummary,
): Promise<void> {
  if (content === "") {
    await tx.run(
      "DELETE FROM forge_action_summaries WHERE task_id = ? AND number = ?",
      taskId,
      number,
    );
    return;
  }
  await tx.run(
    `INSERT INTO forge_action_summaries (task_id, number, content, size) VALUES (?, ?, ?, ?)
     ON CONFLICT (task_id, number) DO UPDATE SET content = excluded.content, size = excluded.size`,
    taskId,
    number,
    content,
    Buffer.byteLength(content),
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
export async function findNextSummary(
  db: Queries,
  taskId: TaskId,
  after: number,
): Promise<StepSummary | undefined> {
  const row = await db.get<{ number: number; content: string }>(
    `SELECT number, content FROM forge_action_summaries
     WHERE task_id = ? AND number > ? ORDER BY number LIMIT 1`,
    taskId,
    after,
  );
  return row && { taskId, number: row.number, content: row.content };
}
