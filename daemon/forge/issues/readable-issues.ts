import type { Queries } from "../../../storage/engine/database.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { readsKind } from "./issue-access.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";

/** Finds issues of any repository; those that the caller may not read are absent. */
export type ReadIssue = (issue: ForgeIssue | IssueId) => Promise<IssueDetails | undefined>;

/** Returns a reader of issues for one request, which loads each repository once. */
export function createIssueReader(db: Queries, caller: ForgeCaller | undefined): ReadIssue {
  const repositories = new Map<string, Promise<OwnedRepository | undefined>>();
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
    const owned = await findReadable(issue);
    return owned && loadIssueDetails(db, owned, issue, caller?.user);
  }

  function findReadable(issue: ForgeIssue): Promise<OwnedRepository | undefined> {
    const key = `${issue.repositoryId} ${issue.isPull}`;
    const known = repositories.get(key);
    if (known !== undefined) return known;
    const finding = find(issue);
    repositories.set(key, finding);
    return finding;
  }

  async function find(issue: ForgeIssue): Promise<OwnedRepository | undefined> {
    const repository = await findRepositoryById(db, issue.repositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) return undefined;
    const owned = { repository, owner };
    return (await readsKind(db, owned, caller, issue)) ? owned : undefined;
  }
}
