import type { Queries, Transaction } from "../../../engine/database.ts";
import { groupValues } from "../../chunks.ts";
import type { TaskId, RepositoryId, RunId, JobId, RunnerId, UserId } from "../ids.ts";
import { type ActionStatus, actionStatuses, toActionStatus } from "./statuses.ts";
import { oneOf, flag, generated, id, integer, optional, text, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const tasks = defineTable("forge_action_tasks", {
  id: generated(id<TaskId>()),
  jobId: id<JobId>(),
  /** Undefined once the runner is deleted. */
  runnerId: optional(id<RunnerId>()),
  runnerName: text(),
  status: oneOf(actionStatuses),
  logRows: integer(),
  isLogSealed: flag(),
  /** Whether its log has been deleted. */
  isLogExpired: generated(flag()),
  /** Bytes of the log before compression. */
  logBytes: generated(integer()),
  /** The values that the log must mask, sealed; undefined once the log has ended. */
  sealedMasks: optional(text()),
  startedAt: integer(),
  /** When the runner last reported. */
  reportedAt: integer(),
  completedAt: optional(integer()),
  /** When it was cancelled; undefined unless its runner has to end it. */
  cancellingAt: optional(integer()),
  /** SHA-256 of its token, in hex. */
  tokenHash: unread(optional(text())),
  /** JSON. */
  tokenPermissions: unread(generated(text())),
});
/** A job that a runner has taken. Times are epoch milliseconds. */
export type ActionTask = RecordOf<typeof tasks>;

/** A step of a task. `number` counts from 0. */
export interface ActionStep {
  readonly number: number;
  readonly name: string;
  readonly status: ActionStatus;
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  /** Its first row in the log of the task, and how many rows it has. */
  readonly logIndex: number;
  readonly logLength: number;
}

/** Adds a task with its steps, which wait. */
export async function insertTask(
  tx: Transaction,
  task: { readonly jobId: JobId; readonly runnerId: RunnerId; readonly runnerName: string },
  stepNames: readonly string[],
): Promise<ActionTask> {
  const row = await tasks.insert(tx, {
    ...task,
    status: "running",
    logRows: 0,
    isLogSealed: false,
    startedAt: tx.now,
    reportedAt: tx.now,
  });
  for (const [number, name] of stepNames.entries())
    await tx.run(
      "INSERT INTO forge_action_steps (task_id, number, name, status) VALUES (?, ?, ?, 'waiting')",
      row.id,
      number,
      name,
    );
  return row;
}

/** Writes the given members of a task. One that ends loses its token; a log that ends loses its masks. */
export async function updateTask(
  tx: Transaction,
  id: TaskId,
  changes: Partial<
    Pick<
      ActionTask,
      | "status"
      | "logRows"
      | "logBytes"
      | "isLogSealed"
      | "sealedMasks"
      | "reportedAt"
      | "completedAt"
      | "cancellingAt"
    > & {
      /** SHA-256 of its token, in hex. */
      readonly tokenHash: string;
      /** JSON. */
      readonly tokenPermissions: string;
    }
  >,
): Promise<void> {
  await tasks.update(
    tx,
    { id },
    {
      ...changes,
      ...(changes.isLogSealed === true && { sealedMasks: undefined }),
      ...(changes.completedAt !== undefined && { tokenHash: undefined }),
    },
  );
}

export async function findTask(db: Queries, id: TaskId): Promise<ActionTask | undefined> {
  return tasks.find(db, { id });
}

/** Finds the owner of the repository whose job a task runs. */
export async function findTaskOwner(db: Queries, id: TaskId): Promise<UserId | undefined> {
  const row = await db.get<{ owner_id: UserId }>(
    `SELECT r.owner_id AS owner_id FROM forge_action_tasks t
     JOIN forge_action_jobs j ON j.id = t.job_id JOIN forge_repositories r ON r.id = j.repository_id WHERE t.id = ?`,
    id,
  );
  return row?.owner_id;
}

/** Finds the unfinished task of a token by its hash. */
export async function findTaskOfToken(
  db: Queries,
  tokenHash: string,
): Promise<
  { readonly taskId: TaskId; readonly runId: RunId; readonly permissions: string } | undefined
> {
  const row = await db.get<{ id: TaskId; run_id: RunId; token_permissions: string }>(
    `SELECT t.id AS id, j.run_id AS run_id, t.token_permissions AS token_permissions
     FROM forge_action_tasks t JOIN forge_action_jobs j ON j.id = t.job_id
     WHERE t.token_hash = ? AND t.completed_at IS NULL`,
    tokenHash,
  );
  return row && { taskId: row.id, runId: row.run_id, permissions: row.token_permissions };
}

/** Lists the tasks of jobs. */
export async function listTasksOfJobs(
  db: Queries,
  jobIds: readonly JobId[],
): Promise<ActionTask[]> {
  if (jobIds.length === 0) return [];
  return tasks.list(db, sql`job_id IN (${jobIds})`);
}

/** Returns a page of the tasks of a repository, the newest first, and their total. */
export async function listTasksOfRepository(
  db: Queries,
  repositoryId: RepositoryId,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly tasks: readonly ActionTask[]; readonly total: number }> {
  const from =
    "FROM forge_action_tasks WHERE job_id IN (SELECT id FROM forge_action_jobs WHERE repository_id = ?)";
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, repositoryId);
  const rows = await tasks.readAll(
    db,
    `SELECT ${tasks.columns} ${from} ORDER BY id DESC LIMIT ? OFFSET ?`,
    repositoryId,
    page.limit,
    page.offset,
  );
  return { tasks: rows, total: counted?.total ?? 0 };
}

/** Lists unfinished tasks that have not reported since `before`, or whose runner was deleted. */
export async function listSilentTasks(
  db: Queries,
  { after, before }: { readonly after: number; readonly before: number },
  limit: number,
): Promise<ActionTask[]> {
  return tasks.list(
    db,
    sql`status IN ('running', 'cancelling')
      AND (reported_at < ${after} OR reported_at > ${before} OR runner_id IS NULL)`,
    { order: "id", limit },
  );
}

/**
 * Lists unfinished tasks that have run longer than their job may, and those that were to be cancelled before
 * `cancelledBefore` and still run.
 */
export async function listOverdueTasks(
  db: Queries,
  times: { readonly now: number; readonly defaultMs: number; readonly cancelledBefore: number },
  limit: number,
): Promise<ActionTask[]> {
  return tasks.list(
    db,
    sql`id IN ( SELECT t.id FROM forge_action_tasks t JOIN forge_action_jobs j ON j.id = t.job_id
        WHERE (t.status = 'running'
        AND t.started_at + CASE WHEN j.timeout_minutes > 0 THEN j.timeout_minutes * 60000 ELSE ${times.defaultMs} END < ${times.now})
        OR (t.status = 'cancelling' AND t.cancelling_at < ${times.cancelledBefore}))`,
    { order: "id", limit },
  );
}

/** Seals the logs of tasks that ended before a time, and deletes their masks. */
export async function sealEndedLogs(db: Queries, before: number): Promise<void> {
  await tasks.update(db, sql`completed_at < ${before} AND sealed_masks IS NOT NULL`, {
    isLogSealed: true,
    sealedMasks: undefined,
  });
}

/** Lists the unfinished tasks of a runner. */
export async function listOpenTasksOf(db: Queries, runnerId: RunnerId): Promise<ActionTask[]> {
  return tasks.list(db, { runnerId, completedAt: undefined }, { order: "id" });
}

export async function updateStep(
  tx: Transaction,
  taskId: TaskId,
  step: Omit<ActionStep, "name">,
): Promise<void> {
  await tx.run(
    `UPDATE forge_action_steps SET status = ?, started_at = ?, completed_at = ?, log_index = ?, log_length = ?
     WHERE task_id = ? AND number = ?`,
    step.status,
    step.startedAt ?? null,
    step.completedAt ?? null,
    step.logIndex,
    step.logLength,
    taskId,
    step.number,
  );
}

/** Ends the steps of a finished task that their runner has not ended. */
export async function endOpenSteps(
  tx: Transaction,
  taskId: TaskId,
  status: ActionStatus,
): Promise<void> {
  await tx.run(
    `UPDATE forge_action_steps SET status = ?, completed_at = ?
     WHERE task_id = ? AND status IN ('waiting', 'running')`,
    status,
    tx.now,
    taskId,
  );
}

/** Lists the steps of tasks, by task. */
export async function listSteps(
  db: Queries,
  taskIds: readonly TaskId[],
): Promise<ReadonlyMap<TaskId, readonly ActionStep[]>> {
  if (taskIds.length === 0) return new Map();
  const rows = await db.all<StepRow>(
    `SELECT task_id, number, name, status, started_at, completed_at, log_index, log_length FROM forge_action_steps
     WHERE task_id IN (${taskIds.map(() => "?").join(", ")}) ORDER BY task_id, number`,
    ...taskIds,
  );
  return groupValues(
    rows,
    (row) => row.task_id,
    (row) => ({
      number: row.number,
      name: row.name,
      status: toActionStatus(row.status),
      startedAt: row.started_at ?? undefined,
      completedAt: row.completed_at ?? undefined,
      logIndex: row.log_index,
      logLength: row.log_length,
    }),
  );
}

/** Appends compressed rows to the log of a task. */
export async function insertLogChunk(
  tx: Transaction,
  chunk: {
    readonly taskId: TaskId;
    readonly firstRow: number;
    readonly rowCount: number;
    readonly content: Uint8Array;
  },
): Promise<void> {
  await tx.run(
    "INSERT INTO forge_action_log_chunks (task_id, first_row, row_count, content) VALUES (?, ?, ?, ?)",
    chunk.taskId,
    chunk.firstRow,
    chunk.rowCount,
    chunk.content,
  );
}

/** Returns the compressed rows of a log that have a row, or begin right at it; undefined at the end of the log. */
export async function findLogChunk(
  db: Queries,
  taskId: TaskId,
  row: number,
): Promise<
  { readonly firstRow: number; readonly rowCount: number; readonly content: Uint8Array } | undefined
> {
  const found = await db.get<{ first_row: number; row_count: number; content: Uint8Array }>(
    `SELECT first_row, row_count, content FROM (
       SELECT first_row, row_count, content FROM forge_action_log_chunks
       WHERE task_id = ? AND first_row <= ? ORDER BY first_row DESC LIMIT 1) AS chunk
     WHERE first_row + row_count > ?`,
    taskId,
    row,
    row,
  );
  return found && { firstRow: found.first_row, rowCount: found.row_count, content: found.content };
}

interface StepRow {
  task_id: TaskId;
  number: number;
  name: string;
  status: string;
  started_at: number | null;
  completed_at: number | null;
  log_index: number;
  log_length: number;
}
