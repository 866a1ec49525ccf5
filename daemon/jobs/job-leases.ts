import type { Database } from "../../storage/engine/database.ts";
import {
  correctRunTimes,
  type JobRecord,
  type LapsedClaim,
  listLapsedClaims,
  renewLeases,
} from "../../storage/tables/common/jobs.ts";
import type { Log } from "../utilities/logging.ts";
import type { RegisteredKind } from "./job-kind.ts";
import type { JobRunner } from "./job-runner.ts";

/** Clocks of several daemons differ by less than this; a clock that goes back by more was set. */
const CLOCKS_DIFFER_MS = 60_000;

/** A job that runs in this process. */
export interface RunningJob {
  readonly job: JobRecord;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

export interface JobLeasesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly steadyClock: () => number;
  readonly log: Log;
  /** The owner of this process's leases. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly runner: Pick<JobRunner, "reclaim">;
  /** The jobs that run in this process, by id. */
  readonly running: ReadonlyMap<number, RunningJob>;
  readonly findKind: (name: string) => Promise<RegisteredKind | undefined>;
}

/** Renews the leases of the jobs that run in this process, and reclaims the jobs of processes that died. */
export function createJobLeases(deps: JobLeasesDeps) {
  const { db, clock, steadyClock, log, owner, leaseMs, running } = deps;
  let checkedAt = clock();
  /** Leases that end too late to be right, by the ids of their jobs, and when they were first seen as they are. */
  let tooLong = new Map<number, { readonly leasedUntil: number; readonly since: number }>();

  /**
   * Renews the leases of the jobs that run here. A job whose end could not be recorded is not one of them: its lease expires
   * and it is retried. Aborts a job that another process has reclaimed, which happens when this one stood still.
   */
  async function renew(now: number): Promise<void> {
    const held = [...running.values()];
    if (held.length === 0) return;
    const ids = held.map(({ job }) => job.id);
    const renewed = await renewLeases(db, { owner, ids, leasedUntil: now + leaseMs });
    for (const { job, abort } of held) {
      if (renewed.has(job.id) || !running.has(job.id)) continue;
      log.warn({ job_id: job.id, job_kind: job.kind }, "lost the lease of a running job");
      abort.abort();
    }
  }

  /** Brings jobs nearer that wait for the time of a clock that was ahead: their schedules would never run again. */
  async function correctTimes(): Promise<void> {
    const corrected = await db.transaction((tx) => correctRunTimes(tx, tx.now + CLOCKS_DIFFER_MS));
    if (corrected > 0) log.warn({ jobs: corrected }, "the clock was set back: jobs run earlier");
  }

  /**
   * Reclaims the jobs whose leases expired at or before `until`, and those whose leases end too late and are not renewed: a
   * clock that was ahead wrote them. A lease that is renewed is of a living process, and the clock of this one is behind.
   */
  async function recover(until: number): Promise<void> {
    const longest = clock() + leaseMs + CLOCKS_DIFFER_MS;
    const lapsed = await listLapsedClaims(db, until, longest);
    const late = lapsed.filter(({ leasedUntil }) => leasedUntil > until);
    tooLong = new Map(late.map((claim) => [claim.id, toSeen(claim)]));
    for (const claimed of lapsed) {
      const seen = tooLong.get(claimed.id);
      if (seen !== undefined && steadyClock() - seen.since < leaseMs / 2) continue;
      await deps.runner.reclaim(claimed, await deps.findKind(claimed.kind));
    }
  }

  function toSeen({ id, leasedUntil }: LapsedClaim) {
    const before = tooLong.get(id);
    return before?.leasedUntil === leasedUntil ? before : { leasedUntil, since: steadyClock() };
  }

  return {
    correctTimes,
    recover,
    /** Renews the leases of the running jobs and reclaims expired ones, several times per lease. */
    async keep(): Promise<void> {
      const now = clock();
      if (now - checkedAt < leaseMs / 4 && now >= checkedAt) return;
      if (now < checkedAt - CLOCKS_DIFFER_MS) await correctTimes();
      await renew(now);
      await recover(now);
      checkedAt = now;
    },
  };
}
