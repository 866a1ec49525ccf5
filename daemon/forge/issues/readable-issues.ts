import type { Queries } from "../../../storage/engine/database.ts";
import { type ForgeIssue, listIssuesByIds } from "../../../storage/tables/forge/issues/issues.ts";
import type { IssueId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findRepositoriesByIds } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { readsKind } from "./issue-access.ts";
import { findPeople, type IssueDetails, loadAllIssueDetails } from "./issue-details.ts";

/**
 * Returns those of the issues that a caller may read, by their ids. They may be of any repository: each repository takes
 * statements of its own, and each issue none.
 */
export async function readIssues(
  db: Queries,
  caller: ForgeCaller | undefined,
  wanted: readonly (ForgeIssue | IssueId)[],
): Promise<ReadonlyMap<IssueId, IssueDetails>> {
  const given = wanted.filter((each) => typeof each !== "number");
  const ids = wanted.filter((each) => typeof each === "number");
  const found = [...given, ...(await listIssuesByIds(db, ids))];
  const issues = [...new Map(found.map((issue) => [issue.id, issue])).values()];
  const readable: Pick<IssueDetails, "owned" | "issue">[] = [];
  const places = await listOwnedRepositories(
    db,
    issues.map(({ repositoryId }) => repositoryId),
  );
  const reads = new Map<string, boolean>();
  for (const issue of issues) {
    const owned = places.get(issue.repositoryId);
    if (owned === undefined) continue;
    const key = `${issue.repositoryId} ${issue.isPull}`;
    const isRead = reads.get(key) ?? (await readsKind(db, owned, caller, issue));
    reads.set(key, isRead);
    if (isRead) readable.push({ owned, issue });
  }
  const details = await loadAllIssueDetails(db, readable, caller?.user);
  return new Map(details.map((each) => [each.issue.id, each]));
}

/** Returns the existing repositories of these ids with their owners. */
export async function listOwnedRepositories(
  db: Queries,
  ids: readonly RepositoryId[],
): Promise<ReadonlyMap<RepositoryId, OwnedRepository>> {
  const repositories = await findRepositoriesByIds(db, ids);
  const owners = await findPeople(
    db,
    repositories.map(({ ownerId }) => ownerId),
  );
  return new Map(
    repositories.flatMap((repository) => {
      const owner = owners.get(repository.ownerId);
      return owner === undefined ? [] : [[repository.id, { repository, owner }]];
    }),
  );
}
