import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import { type ActionRun, findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { type ActionStatus, isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { type RepositoryId, toRunId } from "../../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { OwnedRepository } from "../../events.ts";
import type { GrantedRepository } from "../../opened.ts";
import { notFound } from "../../refusals.ts";

/** Returns a run as it was after an earlier attempt, by the jobs of that attempt. */
export function toFormerAttempt(
  run: ActionRun,
  attempt: number,
  jobs: readonly ActionJob[],
): ActionRun {
  const of = (values: readonly (number | undefined)[]) =>
    values.filter((value) => value !== undefined);
  const starts = of(jobs.map(({ startedAt }) => startedAt));
  const ends = of(jobs.map(({ completedAt }) => completedAt));
  return {
    ...run,
    attempt,
    status: toRunStatus(jobs),
    startedAt: starts.length === 0 ? undefined : Math.min(...starts),
    completedAt: ends.length === 0 ? undefined : Math.max(...ends),
  };
}

/** Loads the repositories of rows with their owners, by id; deleted ones are left out. */
export async function loadRepositories(
  db: Queries,
  rows: readonly { readonly repositoryId: RepositoryId }[],
): Promise<ReadonlyMap<RepositoryId, OwnedRepository>> {
  const loaded = new Map<RepositoryId, OwnedRepository>();
  for (const id of new Set(rows.map(({ repositoryId }) => repositoryId))) {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository !== undefined && owner !== undefined) loaded.set(id, { repository, owner });
  }
  return loaded;
}

/** A part of a run's life, as webhooks name it. */
export type RunPhase = "requested" | "in_progress" | "completed";

export function toPhase(status: ActionStatus): RunPhase {
  if (isFinal(status)) return "completed";
  return status === "running" || status === "cancelling" ? "in_progress" : "requested";
}

/** Returns the concurrency group of a run or a job. Those of a fork share theirs with no other pull request. */
export function toGroup({ isFork, ref }: Pick<ActionRun, "isFork" | "ref">, group: string): string {
  return group === "" || !isFork ? group : `${ref} ${group}`;
}

/** Returns whether a job runs or waits for a runner. */
export const isActive = (status: ActionStatus): boolean =>
  ["waiting", "running", "cancelling"].includes(status);

/** Returns the status of a run that has these jobs. Those of called workflows count through the job that calls. */
export function toRunStatus(jobs: readonly ActionJob[]): ActionStatus {
  return toJointStatus(jobs.filter(({ parentJobId }) => parentJobId === undefined));
}

/** Returns the status of the jobs of one workflow together. */
export function toJointStatus(jobs: readonly ActionJob[]): ActionStatus {
  const statuses = jobs.map(({ status, continueOnError }) =>
    status === "failure" && continueOnError ? "success" : status,
  );
  if (statuses.every(isFinal)) {
    if (jobs.some((job) => job.status === "cancelled" && !hasFailedFast(jobs, job)))
      return "cancelled";
    if (statuses.includes("failure")) return "failure";
    return statuses.every((each) => each === "skipped") ? "skipped" : "success";
  }
  if (statuses.includes("cancelling")) return "cancelling";
  if (statuses.some((each) => each === "running" || each === "success" || each === "failure"))
    return "running";
  return statuses.includes("waiting") ? "waiting" : "blocked";
}

/** Returns whether a job was cancelled because another one of its matrix has failed: the failure is what counts then. */
function hasFailedFast(jobs: readonly ActionJob[], { key, parentJobId }: ActionJob): boolean {
  return jobs.some(
    (other) =>
      other.key === key &&
      other.parentJobId === parentJobId &&
      other.status === "failure" &&
      other.failFast &&
      !other.continueOnError,
  );
}

const ERROR_CHARACTERS_MAX = 4_000;

/** Returns the reason of a failure as a run shows it. It may quote values of expressions, which have any length and any characters. */
export const toShownError = (reason: string): string =>
  reason.slice(0, ERROR_CHARACTERS_MAX).replaceAll("\0", "\uFFFD").toWellFormed();

/** Throws `not_found` for a run of another repository. */
export async function openRun(
  queries: Queries,
  { repository }: GrantedRepository,
  id: number,
): Promise<ActionRun> {
  const run = await findRun(queries, toRunId(id));
  if (run?.repositoryId !== repository.id) throw notFound();
  return run;
}
