import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ActionJob } from "../../../../storage/tables/forge/actions/jobs.ts";
import type { ActionRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { findRepositoryById } from "../../../../storage/tables/forge/repositories/repositories.ts";
import type { OwnedRepository } from "../../repositories/events.ts";
import { toRunStatus } from "./advance-run.ts";

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

/** Loads the repositories of rows with their owners, by id; those that are gone are left out. */
export async function loadRepositories(
  db: Queries,
  rows: readonly { readonly repositoryId: number }[],
): Promise<ReadonlyMap<number, OwnedRepository>> {
  const loaded = new Map<number, OwnedRepository>();
  for (const id of new Set(rows.map(({ repositoryId }) => repositoryId))) {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository !== undefined && owner !== undefined) loaded.set(id, { repository, owner });
  }
  return loaded;
}
