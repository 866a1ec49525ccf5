import { z } from "zod";
import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { UserId, RunId, JobId, RepositoryId } from "../ids.ts";
import { type OwnedBy, toOwned } from "./owned.ts";
import { type ActionStatus, actionStatuses } from "./statuses.ts";
import {
  oneOf,
  flag,
  generated,
  id,
  integer,
  json,
  named,
  now,
  optional,
  real,
  text,
  unread,
} from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };
const mappingSchema: z.ZodType<Readonly<Record<string, JsonValue>>> = z.record(
  z.string(),
  z.json(),
);
const callSchema = z.object({ inputs: mappingSchema, matrix: mappingSchema });
const labelsSchema = z.array(z.string());

const outputsSchema = z.record(z.string(), z.string());

const jobs = defineTable("forge_action_jobs", {
  id: generated(id<JobId>()),
  runId: id<RunId>(),
  repositoryId: id<RepositoryId>(),
  attempt: integer(),
  /** The job that calls the workflow of this one; undefined for jobs of the run's own file. */
  parentJobId: optional(id<JobId>()),
  /** Its id in the workflow file; the jobs of a matrix share it. */
  key: named("job_key", text()),
  name: text(),
  status: oneOf(actionStatuses),
  /** Whether its matrix has been expanded and its condition is true. */
  isExpanded: flag(),
  labels: json(labelsSchema),
  /** The parts of its payload that jobs of its matrix do not share; empty for a job that calls another workflow. */
  payload: text(),
  /** Inputs and secrets for the workflow that it calls; undefined for jobs with steps, and until the job is expanded. */
  call: named("call_contexts", optional(json(callSchema))),
  failFast: flag(),
  /** 0 means no limit. */
  maxParallel: integer(),
  /** 0 when the file sets no timeout. */
  timeoutMinutes: real(),
  continueOnError: flag(),
  /** The job of an earlier attempt whose result and log this one shows. */
  originalJobId: optional(id<JobId>()),
  /** Empty outside of groups. */
  concurrencyGroup: generated(text()),
  /** Whether it cancels other jobs of its group in place of waiting for them. */
  cancelsGroup: generated(flag()),
  createdAt: now(),
  startedAt: optional(integer()),
  completedAt: optional(integer()),
  outputs: unread(json(outputsSchema)),
});
/** A job of a run. Times are epoch milliseconds. */
export type ActionJob = RecordOf<typeof jobs>;

export type NewActionJob = Omit<
  ActionJob,
  | "id"
  | "call"
  | "originalJobId"
  | "concurrencyGroup"
  | "cancelsGroup"
  | "createdAt"
  | "startedAt"
  | "completedAt"
>;

export const insertJob = (tx: Transaction, job: NewActionJob): Promise<ActionJob> =>
  jobs.insert(tx, { ...job, outputs: {} });

export type ActionJobChanges = Partial<
  Omit<ActionJob, "id" | "runId" | "repositoryId" | "attempt" | "parentJobId" | "key" | "createdAt">
> & { readonly outputs?: JobOutputs };

/** Texts that a job has set for jobs that need it, by name. They are large: lists of jobs do not read them. */
export type JobOutputs = Readonly<Record<string, string>>;

/**
 * Writes the given members of a job. Returns whether it was changed. @param from the status that it must have, so
 * that of two concurrent runners only one gets the job
 */
export async function updateJob(
  tx: Transaction,
  id: JobId,
  changes: ActionJobChanges,
  from?: ActionStatus,
): Promise<boolean> {
  const where = from === undefined ? { id } : { id, status: from };
  return (await jobs.update(tx, where, changes)) === 1;
}

export async function findJob(db: Queries, id: JobId): Promise<ActionJob | undefined> {
  return jobs.find(db, { id });
}

/** Lists the jobs of one attempt of a run in the order of their ids. */
export async function listRunJobs(
  db: Queries,
  runId: RunId,
  attempt: number,
): Promise<ActionJob[]> {
  return jobs.list(db, { runId, attempt }, { order: "id" });
}

/** Returns the outputs of a job. */
export async function findOutputs(db: Queries, id: JobId): Promise<JobOutputs> {
  const texts = await listOutputs(db, [id]);
  return parseOutputs(texts.get(id) ?? "{}");
}

/** Returns the outputs of jobs as the JSON of `JobOutputs`, by job. */
export async function listOutputs(
  db: Queries,
  ids: readonly JobId[],
): Promise<ReadonlyMap<JobId, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<{ id: JobId; outputs: string }>(
    `SELECT id, outputs FROM forge_action_jobs WHERE id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return new Map(rows.map(({ id, outputs }) => [id, outputs]));
}

/** Parses the JSON of outputs. */
export const parseOutputs = (text: string): JobOutputs =>
  parseColumn(outputsSchema, text, "forge_action_jobs.outputs");

/** Returns the bytes that the outputs of jobs take as JSON, without reading them. */
export async function measureOutputs(db: Queries, ids: readonly JobId[]): Promise<number> {
  if (ids.length === 0) return 0;
  const row = await db.get<{ bytes: number | null }>(
    `SELECT SUM(octet_length(outputs)) AS bytes FROM forge_action_jobs WHERE id IN (${ids.map(() => "?").join(", ")})`,
    ...ids,
  );
  return Number(row?.bytes ?? 0);
}

/** Returns the bytes that the outputs of all jobs of an attempt take as JSON, without reading them. */
export async function measureRunOutputs(
  db: Queries,
  { runId, attempt }: Pick<ActionJob, "runId" | "attempt">,
): Promise<number> {
  const row = await db.get<{ bytes: number | null }>(
    "SELECT SUM(octet_length(outputs)) AS bytes FROM forge_action_jobs WHERE run_id = ? AND attempt = ?",
    runId,
    attempt,
  );
  return Number(row?.bytes ?? 0);
}

/** Gives a job the outputs of another one. */
export async function copyOutputs(tx: Transaction, from: JobId, to: JobId): Promise<void> {
  await tx.run(
    "UPDATE forge_action_jobs SET outputs = (SELECT outputs FROM forge_action_jobs WHERE id = ?) WHERE id = ?",
    from,
    to,
  );
}

/** Lists jobs with steps that wait for a runner of a repository, an owner or the instance, the oldest first. */
export async function listWaitingJobs(
  db: Queries,
  level: { readonly ownerId: UserId | undefined; readonly repositoryId: RepositoryId | undefined },
  after: number,
  limit: number,
): Promise<ActionJob[]> {
  const { ownerId, repositoryId } = level;
  const condition =
    repositoryId !== undefined
      ? "AND repository_id = ?"
      : ownerId === undefined
        ? ""
        : "AND repository_id IN (SELECT id FROM forge_repositories WHERE owner_id = ?)";
  const bound = repositoryId ?? ownerId;
  return jobs.readAll(
    db,
    `SELECT ${jobs.columns} FROM forge_action_jobs WHERE status = 'waiting' AND call_contexts IS NULL AND id > ? ${condition}
     ORDER BY id LIMIT ?`,
    after,
    ...(bound === undefined ? [] : [bound]),
    limit,
  );
}

/** Lists the unfinished jobs of a concurrency group that are ready to run, run or are being cancelled, the oldest first. */
export async function listJobsOfGroup(
  db: Queries,
  repositoryId: RepositoryId,
  group: string,
): Promise<ActionJob[]> {
  return jobs.list(
    db,
    sql`repository_id = ${repositoryId} AND concurrency_group = ${group}
        AND status IN ('blocked', 'waiting', 'running', 'cancelling')`,
    { order: "id" },
  );
}

/** Lists jobs that have waited for a runner since `before`, the oldest first. */
export async function listAbandonedJobs(
  db: Queries,
  before: number,
  limit: number,
): Promise<ActionJob[]> {
  return jobs.list(
    db,
    sql`status = 'waiting' AND call_contexts IS NULL AND created_at < ${before}`,
    { order: "id", limit },
  );
}

/** Conditions of a list of jobs; an absent one matches every job. */
export interface JobFilter {
  readonly repositoryId?: RepositoryId;
  readonly ownedBy?: OwnedBy;
  readonly runId?: RunId;
  readonly attempt?: number;
  readonly statuses?: readonly ActionStatus[];
}

/** Returns a page of jobs by id, and the count of all that fit. */
export async function listJobs(
  db: Queries,
  filter: JobFilter,
  page: { readonly limit: number; readonly offset: number; readonly isDescending: boolean },
): Promise<{ readonly jobs: readonly ActionJob[]; readonly total: number }> {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  for (const [column, value] of [
    ["repository_id", filter.repositoryId],
    ["run_id", filter.runId],
    ["attempt", filter.attempt],
  ] as const) {
    if (value === undefined) continue;
    conditions.push(`${column} = ?`);
    values.push(value);
  }
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
    `SELECT COUNT(*) AS total FROM forge_action_jobs ${where}`,
    ...values,
  );
  const rows = await jobs.readAll(
    db,
    `SELECT ${jobs.columns} FROM forge_action_jobs ${where} ORDER BY id ${page.isDescending ? "DESC" : "ASC"} LIMIT ? OFFSET ?`,
    ...values,
    page.limit,
    page.offset,
  );
  return { jobs: rows, total: counted?.total ?? 0 };
}

/** Increments the version of the queue, so that runners request work. */
export async function bumpTasksVersion(tx: Transaction): Promise<void> {
  await tx.run("UPDATE forge_action_versions SET tasks_version = tasks_version + 1 WHERE id = 1");
}

export async function readTasksVersion(db: Queries): Promise<number> {
  const row = await db.get<{ version: number }>(
    "SELECT tasks_version AS version FROM forge_action_versions WHERE id = 1",
  );
  return row?.version ?? 0;
}
