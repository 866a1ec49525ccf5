import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, RunId, RepositoryId } from "../ids.ts";
import { type OwnedBy, toOwned } from "./owned.ts";
import { type ActionStatus, toActionStatus } from "./statuses.ts";

/** A run of a workflow. Times are epoch milliseconds. */
export interface ActionRun {
  readonly id: RunId;
  readonly repositoryId: RepositoryId;
  /** From 1 in each repository. */
  readonly number: number;
  /** Undefined once the account is deleted. */
  readonly actorId: UserId | undefined;
  /** The account that started the last attempt; undefined when it was the actor. */
  readonly triggerActorId: UserId | undefined;
  readonly event: string;
  /** The name of the file without its folder. */
  readonly workflowFile: string;
  /** Such as `.gitea/workflows`. */
  readonly workflowFolder: string;
  readonly title: string;
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string;
  readonly headSha: string;
  /** JSON. */
  readonly eventPayload: string;
  /** JSON of the parsed workflow; undefined when the file is invalid. */
  readonly definition: string | undefined;
  readonly status: ActionStatus;
  /** Why no job could run; empty otherwise. */
  readonly error: string;
  /** From 1; each re-run adds 1. */
  readonly attempt: number;
  /** Empty outside of groups. */
  readonly concurrencyGroup: string;
  /** Whether it waits for another run of its group. */
  readonly isHeld: boolean;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
}

export type NewActionRun = Omit<
  ActionRun,
  "id" | "number" | "attempt" | "triggerActorId" | "createdAt" | "startedAt" | "completedAt"
> & {
  /** Identifies the event that created the run; no second run with the same key is created. */
  readonly triggerKey: string;
};

/** Adds a run with the next number of its repository. Returns undefined when the trigger has already created one. */
export async function insertRun(
  tx: Transaction,
  run: NewActionRun,
): Promise<ActionRun | undefined> {
  const existing = await tx.get(
    "SELECT id FROM forge_action_runs WHERE repository_id = ? AND trigger_key = ?",
    run.repositoryId,
    run.triggerKey,
  );
  if (existing !== undefined) return undefined;
  const numbered = await tx.get<{ number: number }>(
    `INSERT INTO forge_action_run_numbers (repository_id, last_number) VALUES (?, 1)
     ON CONFLICT (repository_id) DO UPDATE SET last_number = forge_action_run_numbers.last_number + 1
     RETURNING last_number AS number`,
    run.repositoryId,
  );
  const row = await tx.get<RunRow>(
    `INSERT INTO forge_action_runs (repository_id, number, actor_id, event, workflow_file, workflow_folder, title, ref, head_sha,
       event_payload, definition, status, error, attempt, concurrency_group, is_held, trigger_key, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?) RETURNING ${columns}`,
    run.repositoryId,
    numbered?.number ?? 1,
    run.actorId ?? null,
    run.event,
    run.workflowFile,
    run.workflowFolder,
    run.title,
    run.ref,
    run.headSha,
    run.eventPayload,
    run.definition ?? null,
    run.status,
    run.error,
    run.concurrencyGroup,
    Number(run.isHeld),
    run.triggerKey,
    tx.now,
  );
  return row && toRun(row);
}

export async function findRun(db: Queries, id: RunId): Promise<ActionRun | undefined> {
  const row = await db.get<RunRow>(`SELECT ${columns} FROM forge_action_runs WHERE id = ?`, id);
  return row && toRun(row);
}

/** Finds the last run of the same workflow and ref before this one that succeeded or failed. */
export async function findOutcomeBefore(
  db: Queries,
  run: Pick<ActionRun, "id" | "repositoryId" | "workflowFile" | "ref">,
): Promise<ActionRun | undefined> {
  const row = await db.get<RunRow>(
    `SELECT ${columns} FROM forge_action_runs
     WHERE repository_id = ? AND workflow_file = ? AND ref = ? AND id < ? AND status IN ('success', 'failure')
     ORDER BY id DESC LIMIT 1`,
    run.repositoryId,
    run.workflowFile,
    run.ref,
    run.id,
  );
  return row && toRun(row);
}

/** Writes the given members of a run. */
export async function updateRun(
  tx: Transaction,
  id: RunId,
  changes: Partial<
    Pick<
      ActionRun,
      | "title"
      | "definition"
      | "status"
      | "error"
      | "attempt"
      | "triggerActorId"
      | "concurrencyGroup"
      | "isHeld"
      | "startedAt"
      | "completedAt"
    >
  >,
): Promise<void> {
  const values: [string, SqlValue][] = [];
  if (changes.title !== undefined) values.push(["title", changes.title]);
  if ("definition" in changes) values.push(["definition", changes.definition ?? null]);
  if (changes.status !== undefined) values.push(["status", changes.status]);
  if (changes.error !== undefined) values.push(["error", changes.error]);
  if (changes.attempt !== undefined) values.push(["attempt", changes.attempt]);
  if (changes.triggerActorId !== undefined)
    values.push(["trigger_actor_id", changes.triggerActorId]);
  if (changes.concurrencyGroup !== undefined)
    values.push(["concurrency_group", changes.concurrencyGroup]);
  if (changes.isHeld !== undefined) values.push(["is_held", Number(changes.isHeld)]);
  if ("startedAt" in changes) values.push(["started_at", changes.startedAt ?? null]);
  if ("completedAt" in changes) values.push(["completed_at", changes.completedAt ?? null]);
  if (values.length === 0) return;
  await tx.run(
    `UPDATE forge_action_runs SET ${values.map(([column]) => `${column} = ?`).join(", ")} WHERE id = ?`,
    ...values.map(([, value]) => value),
    id,
  );
}

/** Deletes a run with its jobs, tasks and logs. */
export async function deleteRun(tx: Transaction, id: RunId): Promise<void> {
  await tx.run("DELETE FROM forge_action_runs WHERE id = ?", id);
}

/** Lists the unfinished runs of a concurrency group, the oldest first. */
export async function listGroup(
  db: Queries,
  repositoryId: RepositoryId,
  group: string,
): Promise<ActionRun[]> {
  const rows = await db.all<RunRow>(
    `SELECT ${columns} FROM forge_action_runs
     WHERE repository_id = ? AND concurrency_group = ? AND completed_at IS NULL ORDER BY id`,
    repositoryId,
    group,
  );
  return rows.map(toRun);
}

/** Conditions of a list of runs; an absent one matches every run. */
export interface RunFilter {
  readonly repositoryId?: RepositoryId;
  readonly ownedBy?: OwnedBy;
  readonly event?: string;
  readonly ref?: string;
  readonly headSha?: string;
  readonly actorId?: UserId;
  readonly workflowFile?: string;
  readonly statuses?: readonly ActionStatus[];
}

/** Returns a page of runs, the newest first, and the count of all that fit. */
export async function listRuns(
  db: Queries,
  filter: RunFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly runs: readonly ActionRun[]; readonly total: number }> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const add = (column: string, value: SqlValue | undefined) => {
    if (value === undefined) return;
    conditions.push(`${column} = ?`);
    values.push(value);
  };
  add("repository_id", filter.repositoryId);
  add("event", filter.event);
  add("ref", filter.ref);
  add("head_sha", filter.headSha);
  add("actor_id", filter.actorId);
  add("workflow_file", filter.workflowFile);
  if (filter.ownedBy !== undefined) {
    const ownerCondition = toOwned(filter.ownedBy);
    conditions.push(ownerCondition.sql);
    values.push(...ownerCondition.values);
  }
  if (filter.statuses !== undefined && filter.statuses.length > 0) {
    conditions.push(`status IN (${filter.statuses.map(() => "?").join(", ")})`);
    values.push(...filter.statuses);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_action_runs ${where}`,
    ...values,
  );
  const rows = await db.all<RunRow>(
    `SELECT ${columns} FROM forge_action_runs ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { runs: rows.map(toRun), total: counted?.total ?? 0 };
}

interface RunRow {
  id: RunId;
  repository_id: RepositoryId;
  number: number;
  actor_id: UserId | null;
  trigger_actor_id: UserId | null;
  event: string;
  workflow_file: string;
  workflow_folder: string;
  title: string;
  ref: string;
  head_sha: string;
  event_payload: string;
  definition: string | null;
  status: string;
  error: string;
  attempt: number;
  concurrency_group: string;
  is_held: number;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
}

const columns = `id, repository_id, number, actor_id, trigger_actor_id, event, workflow_file, workflow_folder, title, ref,
  head_sha, event_payload, definition, status, error, attempt, concurrency_group, is_held, created_at, started_at, completed_at`;

function toRun(row: RunRow): ActionRun {
  return {
    id: row.id,
    repositoryId: row.repository_id,
    number: row.number,
    actorId: row.actor_id ?? undefined,
    triggerActorId: row.trigger_actor_id ?? undefined,
    event: row.event,
    workflowFile: row.workflow_file,
    workflowFolder: row.workflow_folder,
    title: row.title,
    ref: row.ref,
    headSha: row.head_sha,
    eventPayload: row.event_payload,
    definition: row.definition ?? undefined,
    status: toActionStatus(row.status),
    error: row.error,
    attempt: row.attempt,
    concurrencyGroup: row.concurrency_group,
    isHeld: row.is_held === 1,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    completedAt: row.completed_at ?? undefined,
  };
}
