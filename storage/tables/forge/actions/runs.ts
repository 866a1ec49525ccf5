import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { UserId, RunId, RepositoryId } from "../ids.ts";
import { type OwnedBy, toOwned } from "./owned.ts";
import { type ActionStatus, actionStatuses } from "./statuses.ts";
import {
  oneOf,
  flag,
  generated,
  id,
  initial,
  integer,
  now,
  optional,
  text,
  unread,
} from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const runs = defineTable("forge_action_runs", {
  id: generated(id<RunId>()),
  repositoryId: id<RepositoryId>(),
  /** From 1 in each repository. */
  number: integer(),
  /** Undefined once the account is deleted. */
  actorId: optional(id<UserId>()),
  /** The account that started the last attempt; undefined when it was the actor. */
  triggerActorId: optional(id<UserId>()),
  event: text(),
  /** The name of the file without its folder. */
  workflowFile: text(),
  /** Such as `.gitea/workflows`. */
  workflowFolder: text(),
  title: text(),
  /** The full name, such as `refs/heads/main`. */
  ref: text(),
  headSha: text(),
  /** JSON. */
  eventPayload: text(),
  /** JSON of the parsed workflow; undefined when the file is invalid. */
  definition: optional(text()),
  status: oneOf(actionStatuses),
  /** Why no job could run; empty otherwise. */
  error: text(),
  /** From 1; each re-run adds 1. */
  attempt: integer(),
  /** Empty outside of groups. */
  concurrencyGroup: text(),
  /** Whether it waits for another run of its group. */
  isHeld: flag(),
  /** Whether its workflow is that of a fork: it gets no secrets, and its token may only read. */
  isFork: initial(false, flag()),
  /** Whether none of its jobs runs before a person with write access approves it. */
  needsApproval: initial(false, flag()),
  /** Undefined for a run that needed no approval, and once the account is deleted. */
  approvedBy: optional(id<UserId>()),
  createdAt: now(),
  startedAt: optional(integer()),
  completedAt: optional(integer()),
  triggerKey: unread(text()),
});
/** A run of a workflow. Times are epoch milliseconds. */
export type ActionRun = RecordOf<typeof runs>;

export type NewActionRun = Omit<
  ActionRun,
  | "id"
  | "number"
  | "attempt"
  | "triggerActorId"
  | "approvedBy"
  | "createdAt"
  | "startedAt"
  | "completedAt"
  | "isFork"
  | "needsApproval"
> &
  Partial<Pick<ActionRun, "isFork" | "needsApproval">> & {
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
  return runs.insert(tx, { ...run, number: numbered?.number ?? 1, attempt: 1 });
}

export async function findRun(db: Queries, id: RunId): Promise<ActionRun | undefined> {
  return runs.find(db, { id });
}

/** Finds the last run of the same workflow and ref before this one that succeeded or failed. */
export async function findOutcomeBefore(
  db: Queries,
  run: Pick<ActionRun, "id" | "repositoryId" | "workflowFile" | "ref">,
): Promise<ActionRun | undefined> {
  return runs.find(
    db,
    sql`repository_id = ${run.repositoryId} AND workflow_file = ${run.workflowFile}
        AND ref = ${run.ref} AND id < ${run.id} AND status IN ('success', 'failure')`,
    "id DESC",
  );
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
      | "needsApproval"
      | "approvedBy"
      | "startedAt"
      | "completedAt"
    >
  >,
): Promise<void> {
  await runs.update(tx, { id }, changes);
}

/** Deletes a run with its jobs, tasks and logs. */
export async function deleteRun(tx: Transaction, id: RunId): Promise<void> {
  await runs.delete(tx, { id });
}

/** Lists the unfinished runs of a concurrency group, the oldest first. */
export async function listGroup(
  db: Queries,
  repositoryId: RepositoryId,
  group: string,
): Promise<ActionRun[]> {
  return runs.list(
    db,
    { repositoryId, concurrencyGroup: group, completedAt: undefined },
    { order: "id" },
  );
}

/** Lists the runs of a ref that wait for approval, the oldest first. */
export function listUnapprovedRuns(
  db: Queries,
  repositoryId: RepositoryId,
  ref: string,
): Promise<ActionRun[]> {
  return runs.list(db, { repositoryId, ref, needsApproval: true }, { order: "id" });
}

/** Returns whether a run of a person was approved in a repository. */
export function hasApprovedRun(
  db: Queries,
  repositoryId: RepositoryId,
  actorId: UserId,
): Promise<boolean> {
  return runs.exists(
    db,
    sql`repository_id = ${repositoryId} AND actor_id = ${actorId} AND approved_by IS NOT NULL`,
  );
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
  const rows = await runs.readAll(
    db,
    `SELECT ${runs.columns} FROM forge_action_runs ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { runs: rows, total: counted?.total ?? 0 };
}
