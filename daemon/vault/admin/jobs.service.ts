import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  countMatchingJobs,
  findJob,
  type JobFilter,
  type JobRecord,
  listJobs,
} from "../../../storage/tables/common/jobs.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { AppError } from "../../errors.ts";
import type { JobChange, JobQueue } from "../../jobs/queue.ts";
import type { VaultCaller } from "../caller.ts";
import type { PageRequest } from "../page.ts";

export type JobAdministration = ReturnType<typeof createJobAdministration>;

/** The background jobs of the daemon. Throws `not_found` for a job that is missing or done. */
export function createJobAdministration({
  db,
  queue,
}: {
  readonly db: Database;
  readonly queue: Pick<JobQueue, "retry" | "cancel">;
}) {
  return {
    async list(
      filter: JobFilter,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly jobs: readonly JobRecord[]; readonly total: number }> {
      const window = { limit: perPage, offset: (page - 1) * perPage };
      const jobs = await listJobs(db, filter, window);
      return { jobs, total: await countMatchingJobs(db, filter) };
    },

    view,

    /** Runs a job now. Throws `conflict` while the job runs, and when another job does the same work. */
    async retry(caller: VaultCaller, id: number): Promise<JobRecord> {
      const job = await view(id);
      assertChanged(await queue.retry(id, recordChange(caller, "admin.job_retried")));
      // The job may have finished already: then return the row that was retried.
      return (await findJob(db, id)) ?? { ...job, state: "running" };
    },

    /** Deletes a job; its subject is recorded as failed. Throws `conflict` while it runs, and for scheduled tasks. */
    async cancel(caller: VaultCaller, id: number): Promise<void> {
      // This job enqueues the next run, so without it the schedule would stop until the daemon starts again.
      if (isScheduled((await view(id)).kind))
        throw new AppError(
          "conflict",
          "A scheduled task runs by its schedule and cannot be cancelled",
        );
      assertChanged(await queue.cancel(id, recordChange(caller, "admin.job_cancelled")));
    },
  };

  async function view(id: number): Promise<JobRecord> {
    const job = await findJob(db, id);
    if (job === undefined) throw jobNotFound();
    return job;
  }
}

const recordChange =
  ({ userId, address }: VaultCaller, eventType: string) =>
  (tx: Transaction, { id, kind }: JobRecord): Promise<void> =>
    insertAudit(tx, {
      eventType,
      actorId: userId,
      resourceId: String(id),
      ipAddress: address,
      metadata: { kind },
    });

/** Whether a job is the next run of a scheduled task. */
export function isScheduled(kind: string): boolean {
  return kind.startsWith("schedule.");
}

function assertChanged(change: JobChange | "superseded"): void {
  if (change === "missing") throw jobNotFound();
  if (change === "running") throw new AppError("conflict", "The job is running at the moment");
  if (change === "superseded")
    throw new AppError("conflict", "Another job that does the same work is waiting already");
}

function jobNotFound(): AppError {
  return new AppError("not_found", "Job not found");
}
