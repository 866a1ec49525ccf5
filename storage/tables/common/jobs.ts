// storage/tables/common: rows that belong to neither API: jobs, rate limits, facts about the instance.
// Start here; daemon/jobs/queue.ts calls these functions.
import { z } from "zod";
import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import { generated, integer, json, now, optional, text, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

export type JobState = "waiting" | "running" | "dead";

const jobs = defineTable("jobs", {
  id: generated(integer()),
  kind: text(),
  payload: json(z.unknown()),
  key: optional(text()),
  account: text(),
  sequence: unread(optional(text())),
  state: text<JobState>(),
  runAt: integer(),
  /** Claims so far, the running one included. */
  attempts: integer(),
  lastError: optional(text()),
  createdAt: now(),
  updatedAt: now(),
  leaseOwner: unread(optional(text())),
  leasedUntil: unread(optional(integer())),
});
/** A stored job. Times are epoch milliseconds. */
export type JobRecord = RecordOf<typeof jobs>;

export interface NewJob {
  readonly kind: string;
  /** Any JSON value. */
  readonly payload: unknown;
  readonly runAt: number;
  readonly key: string | undefined;
  /** Absent for jobs that are done for no account. */
  readonly account?: string | undefined;
  /** Jobs of one kind and sequence run one after the other, in the order of their ids. Absent for independent jobs. */
  readonly sequence?: string | undefined;
}

/** A process's claim of a job. The process may complete or release the job only while this claim is the latest one. */
export interface Claim {
  readonly id: number;
  readonly owner: string;
  readonly attempts: number;
}

/**
 * Adds a job. If a job of its key is already waiting, updates that one with the payload and the earlier time instead.
 */
export async function insertJob(tx: Transaction, job: NewJob): Promise<number> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO jobs (kind, payload, key, account, sequence, state, run_at, attempts, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, 'waiting', ?, 0, ?, ?)
     ON CONFLICT (kind, key) WHERE state = 'waiting' AND key IS NOT NULL DO UPDATE SET
       payload = excluded.payload,
       account = excluded.account,
       run_at = CASE WHEN excluded.run_at < jobs.run_at THEN excluded.run_at ELSE jobs.run_at END,
       updated_at = excluded.updated_at
     RETURNING id`,
    job.kind,
    JSON.stringify(job.payload ?? null),
    job.key ?? null,
    job.account ?? "",
    job.sequence ?? null,
    job.runAt,
    tx.now,
    tx.now,
  );
  if (row === undefined) {
    throw new Error("an inserted job gives its id");
  }
  return row.id;
}

/** Returns the next due time of each kind that has waiting jobs. */
export async function listDueTimes(
  db: Queries,
): Promise<{ readonly kind: string; readonly runAt: number }[]> {
  const rows = await db.all<{ kind: string; run_at: number }>(
    "SELECT kind, MIN(run_at) AS run_at FROM jobs WHERE state = 'waiting' GROUP BY kind",
  );
  return rows.map((row) => ({ kind: row.kind, runAt: row.run_at }));
}

/** Returns the accounts that have waiting jobs of a kind, in order. Reads one index entry for each of them. */
export async function listWaitingAccounts(db: Queries, kind: string): Promise<string[]> {
  const rows = await db.all<{ account: string }>(
    `WITH RECURSIVE accounts (account) AS (
       SELECT (SELECT account FROM jobs WHERE kind = ? AND state = 'waiting' ORDER BY account LIMIT 1)
       UNION ALL
       SELECT (SELECT j.account FROM jobs AS j WHERE j.kind = ? AND j.state = 'waiting' AND j.account > accounts.account
               ORDER BY j.account LIMIT 1)
       FROM accounts WHERE accounts.account IS NOT NULL)
     SELECT account FROM accounts WHERE account IS NOT NULL`,
    kind,
    kind,
  );
  return rows.map(({ account }) => account);
}

/**
 * Claims up to `limit` due jobs of a kind, oldest first, until `leasedUntil`; with `account` only those of one. Skips a job while another one of its key
 * runs, or one before it in its sequence is not done. Concurrent callers never claim the same job.
 */
export async function claimJobs(
  tx: Transaction,
  claim: {
    readonly kind: string;
    readonly owner: string;
    readonly leasedUntil: number;
    readonly limit: number;
    readonly account?: string;
  },
): Promise<JobRecord[]> {
  const { account } = claim;
  const rows = await jobs.readAll(
    tx,
    `UPDATE jobs SET state = 'running', lease_owner = ?, leased_until = ?, attempts = attempts + 1, updated_at = ?
     WHERE state = 'waiting' AND id IN (
       SELECT due.id FROM jobs AS due
       WHERE due.kind = ? AND due.state = 'waiting' AND due.run_at <= ?${account === undefined ? "" : " AND due.account = ?"}
         AND NOT EXISTS (
           SELECT 1 FROM jobs AS other
           WHERE other.state = 'running' AND other.kind = due.kind AND other.key = due.key)
         AND NOT EXISTS (
           SELECT 1 FROM jobs AS earlier
           WHERE earlier.kind = due.kind AND earlier.sequence = due.sequence AND earlier.id < due.id AND earlier.state <> 'dead')
       ORDER BY due.run_at, due.id LIMIT ?)
     RETURNING ${jobs.columns}`,
    claim.owner,
    claim.leasedUntil,
    tx.now,
    claim.kind,
    tx.now,
    ...(account === undefined ? [] : [account]),
    claim.limit,
  );
  return rows.sort((a, b) => a.runAt - b.runAt || a.id - b.id);
}

/** Deletes a completed job. False when the claim was lost. */
export async function deleteClaimed(db: Queries, claim: Claim): Promise<boolean> {
  const { changes } = await db.run(`DELETE FROM jobs WHERE ${CLAIMED}`, ...claimValues(claim));
  return changes > 0;
}

/**
 * Releases a claimed job, which then waits until `runAt`. Deletes it when another job of its key is waiting by now,
 * which does the same work; that one takes the earlier time and the attempts of a job that was interrupted.
 * `countAttempt` false restores the number of attempts from before the claim.
 */
export async function releaseClaimed(
  tx: Transaction,
  claim: Claim,
  retry: {
    readonly runAt: number;
    readonly error: string | undefined;
    readonly countAttempt: boolean;
    /** The work did not end, so that it must not wait for the time of the other job. */
    readonly isInterrupted: boolean;
  },
): Promise<void> {
  const attempts = retry.countAttempt ? claim.attempts : claim.attempts - 1;
  if (retry.isInterrupted)
    await tx.run(
      `UPDATE jobs SET run_at = ?, attempts = ?, updated_at = ?
       WHERE state = 'waiting' AND run_at > ? AND EXISTS (
         SELECT 1 FROM jobs AS interrupted
         WHERE interrupted.kind = jobs.kind AND interrupted.key = jobs.key AND interrupted.id = ?
           AND interrupted.state = 'running' AND interrupted.lease_owner = ? AND interrupted.attempts = ?)`,
      retry.runAt,
      attempts,
      tx.now,
      retry.runAt,
      ...claimValues(claim),
    );
  const { changes } = await tx.run(
    `DELETE FROM jobs WHERE ${CLAIMED} AND EXISTS (
       SELECT 1 FROM jobs AS next
       WHERE next.kind = jobs.kind AND next.key = jobs.key AND next.state = 'waiting')`,
    ...claimValues(claim),
  );
  if (changes > 0) {
    return;
  }
  await tx.run(
    `UPDATE jobs SET state = 'waiting', lease_owner = NULL, leased_until = NULL, run_at = ?,
       attempts = ?, last_error = COALESCE(?, last_error), updated_at = ?
     WHERE ${CLAIMED}`,
    retry.runAt,
    attempts,
    retry.error ?? null,
    tx.now,
    ...claimValues(claim),
  );
}

/** Dead-letters a claimed job. False when the claim was lost. */
export async function deadLetterClaimed(
  tx: Transaction,
  claim: Claim,
  error: string,
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE jobs SET state = 'dead', lease_owner = NULL, leased_until = NULL, last_error = ?, updated_at = ?
     WHERE ${CLAIMED}`,
    error,
    tx.now,
    ...claimValues(claim),
  );
  return changes > 0;
}

/** Returns the job of an id. */
export async function findJob(db: Queries, id: number): Promise<JobRecord | undefined> {
  return jobs.find(db, { id });
}

/**
 * Makes a job that is not running due at `tx.now`; a dead one starts again with its first attempt. Returns false when
 * it is running or does not exist. Throws `conflict` when another job of its kind and key waits already.
 */
export async function retryJob(tx: Transaction, id: number): Promise<boolean> {
  return (
    (await jobs.update(tx, sql`id = ${id} AND state <> 'running'`, {
      attempts: sql`CASE WHEN state = 'dead' THEN 0 ELSE attempts END`,
      state: "waiting",
      runAt: tx.now,
      updatedAt: tx.now,
    })) > 0
  );
}

/** Deletes a job that is not running. Returns false when it is running or does not exist. */
export async function deleteJob(tx: Transaction, id: number): Promise<boolean> {
  return (await jobs.delete(tx, sql`id = ${id} AND state <> 'running'`)) > 0;
}

/** Extends the leases that `owner` has on the jobs `ids`. Returns the ids of those that it still has. */
export async function renewLeases(
  db: Queries,
  lease: { readonly owner: string; readonly ids: readonly number[]; readonly leasedUntil: number },
): Promise<ReadonlySet<number>> {
  const rows = await db.all<{ id: number }>(
    `UPDATE jobs SET leased_until = ? WHERE state = 'running' AND lease_owner = ? AND id IN (${lease.ids.map(() => "?").join(", ")})
     RETURNING id`,
    lease.leasedUntil,
    lease.owner,
    ...lease.ids,
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Corrects what a clock that was ahead wrote: waiting jobs written after `until`, which lies in the future, keep their delay and
 * count it from `tx.now`. Returns how many.
 */
export async function correctRunTimes(tx: Transaction, until: number): Promise<number> {
  return jobs.update(tx, sql`state = 'waiting' AND updated_at > ${until}`, {
    runAt: sql`run_at - updated_at + ${tx.now}`,
    updatedAt: tx.now,
  });
}

/** A claim whose lease has expired. */
export type LapsedClaim = Claim & { readonly kind: string; readonly leasedUntil: number };

/**
 * Returns the claims whose leases expired at or before `until`: their process has ended or hangs. Returns also those whose leases
 * end after `longest`, later than any that is renewed: the clock of their process or this one is wrong.
 */
export async function listLapsedClaims(
  db: Queries,
  until: number,
  longest: number,
): Promise<LapsedClaim[]> {
  const rows = await db.all<{
    id: number;
    kind: string;
    lease_owner: string;
    leased_until: number;
    attempts: number;
  }>(
    `SELECT id, kind, lease_owner, leased_until, attempts FROM jobs
     WHERE state = 'running' AND (leased_until <= ? OR leased_until > ?)`,
    until,
    longest,
  );
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    owner: row.lease_owner,
    leasedUntil: row.leased_until,
    attempts: row.attempts,
  }));
}

/** Filter of a list of jobs. */
export interface JobFilter {
  readonly state?: JobState | undefined;
  readonly kind?: string | undefined;
}

/** Returns one page of jobs, newest first. */
export async function listJobs(
  db: Queries,
  filter: JobFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<JobRecord[]> {
  const { where, values } = toConditions(filter);
  return jobs.readAll(
    db,
    `SELECT ${jobs.columns} FROM jobs WHERE ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    page.limit,
    page.offset,
  );
}

/** Counts the jobs that match a filter. */
export async function countMatchingJobs(db: Queries, filter: JobFilter): Promise<number> {
  const { where, values } = toConditions(filter);
  const row = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM jobs WHERE ${where}`,
    ...values,
  );
  return Number(row?.total ?? 0);
}

/** Deletes jobs that were dead-lettered before `before`; returns how many. */
export async function deleteDeadJobs(db: Queries, before: number): Promise<number> {
  return jobs.delete(db, sql`state = 'dead' AND updated_at < ${before}`);
}

function toConditions({ state, kind }: JobFilter): { where: string; values: SqlValue[] } {
  const conditions = [
    ...(state === undefined ? [] : [["state = ?", state] as const]),
    ...(kind === undefined ? [] : [["kind = ?", kind] as const]),
  ];
  return {
    where: conditions.map(([condition]) => condition).join(" AND ") || "TRUE",
    values: conditions.map(([, value]) => value),
  };
}

const CLAIMED = "id = ? AND state = 'running' AND lease_owner = ? AND attempts = ?";

function claimValues({ id, owner, attempts }: Claim): SqlValue[] {
  return [id, owner, attempts];
}
