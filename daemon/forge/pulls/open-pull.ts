import type { Queries } from "../../../storage/engine/database.ts";
import { findIssue, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import type { OwnedRepository } from "../events.ts";
import { notFound } from "../refusals.ts";

/** A pull request with its issue. */
export interface OpenedPull {
  readonly issue: ForgeIssue;
  readonly pull: ForgePull;
}

/** Finds a pull request of a repository by number. Refuses with `not_found`, also an issue. */
export async function openPull(
  db: Queries,
  { repository }: OwnedRepository,
  number: number,
): Promise<OpenedPull> {
  const issue = await findIssue(db, repository.id, number);
  const pull = issue?.isPull === true ? await findPull(db, issue.id) : undefined;
  if (issue === undefined || pull === undefined) throw notFound();
  return { issue, pull };
}
