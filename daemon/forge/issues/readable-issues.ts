import type { Queries } from "../../../storage/engine/database.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";

/** Finds issues of any repository; those that the caller may not read are absent. */
export type ReadIssue = (issue: ForgeIssue | IssueId) => Promise<IssueDetails | undefined>;

/** Returns a reader of issues for one request, which loads each repository once. */
export function createIssueReader(db: Queries, caller: ForgeCaller | undefined): ReadIssue {
  const repositories = new Map<RepositoryId, Promise<OwnedRepository | undefined>>();
  const issues = new Map<IssueId, Promise<IssueDetails | undefined>>();
  return (issue) => {
    const id = typeof issue === "number" ? issue : issue.id;
    const known = issues.get(id);
    if (known !== undefined) return known;
    const reading = read(issue);
    issues.set(id, reading);
    return reading;
  };

  async function read(issueOrId: ForgeIssue | IssueId): Promise<IssueDetails | undefined> {
    const issue = typeof issueOrId === "number" ? await findIssueById(db, issueOrId) : issueOrId;
    if (issue === undefined) return undefined;
    const owned = await findReadable(issue.repositoryId);
    return owned && loadIssueDetails(db, owned, issue, caller?.user);
  }

  function findReadable(id: RepositoryId): Promise<OwnedRepository | undefined> {
    const known = repositories.get(id);
    if (known !== undefined) return known;
    const finding = find(id);
    repositories.set(id, finding);
    return finding;
  }

  async function find(id: RepositoryId): Promise<OwnedRepository | undefined> {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) return undefined;
    const owned = { repository, owner };
    if (!keepsIssues(repository.settings)) return undefined;
    if (isPublicOnly(caller) && !isPublic(owned)) return undefined;
    const access = await findAccess(db, owned, caller?.user, "repo.issues");
    return reaches(access, "read") ? owned : undefined;
  }
}
