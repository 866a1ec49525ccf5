import type { Database } from "../../../storage/engine/database.ts";
import { listAssignees } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { findAssignees, isAssignable, listAssignableUsers } from "./assignable-users.ts";
import { assertMayWrite, openIssue, openIssues, openIssuesToChange } from "./issue-access.ts";
import { openRepository } from "../repositories/open-repository.ts";
import type { IssueChanges } from "./issue-changes.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";
import type { IssuePath } from "./issue-requests.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** The assignees of issues, and the users who may be assigned. */
export type Assignees = ReturnType<typeof createAssignees>;

/** Creates the service. Every function throws `not_found` when the caller may not read the repository. */
export function createAssignees({
  db,
  changes,
}: {
  readonly db: Database;
  readonly changes: IssueChanges;
}) {
  return {
    /** Adds users to the assignees; idempotent. Refuses with `forbidden` a caller without write access. */
    add: (path: IssuePath, caller: ForgeCaller, names: readonly string[]) =>
      change(path, caller, names, (before, named) => [...new Set([...before, ...named])]),

    /** Removes users from the assignees; idempotent. Refuses as `add` does. */
    remove: (path: IssuePath, caller: ForgeCaller, names: readonly string[]) =>
      change(path, caller, names, (before, named) => before.filter((id) => !named.includes(id))),

    /** Refuses with `not_found` a user who may not read the issues of the repository. */
    async assertAssignable(
      path: RepositoryPath & { readonly assignee: string; readonly index?: number },
      caller: ForgeCaller | undefined,
    ): Promise<void> {
      const name = encodeURIComponent(path.assignee);
      const at = path.index === undefined ? "" : `/issues/${path.index}`;
      const rest = `${at}/assignees/${name}`;
      const opened =
        path.index === undefined
          ? await openRepository(db, path, caller, rest, "any")
          : await openIssues(db, path, caller, rest);
      if (path.index !== undefined) await openIssue(db, opened, path.index);
      if (!(await isAssignable(db, opened, path.assignee, caller?.user))) throw notFound();
    },

    /**
     * Lists the users who could review changes of a repository: those with write access. Refuses with `forbidden` a caller
     * without write access.
     */
    async listReviewers(path: RepositoryPath, caller: ForgeCaller): Promise<readonly ForgeUser[]> {
      const opened = await openRepository(db, path, caller, "/reviewers");
      if (!reaches(opened.access, "write"))
        throw new AppError("forbidden", "doer has no permission to get reviewers");
      return listAssignableUsers(db, path, caller);
    },
  };

  async function change(
    path: IssuePath,
    caller: ForgeCaller,
    names: readonly string[],
    combine: (before: readonly UserId[], named: readonly UserId[]) => readonly UserId[],
  ): Promise<IssueDetails> {
    const actor = caller.user;
    const rest = `/issues/${path.index}/assignees`;
    return db.transaction(async (tx) => {
      const opened = await openIssuesToChange(tx, path, caller, rest);
      const issue = await openIssue(tx, opened, path.index);
      assertMayWrite(opened);
      const named = await findAssignees(tx, opened, names);
      const after = combine(await listAssignees(tx, issue.id), named);
      await changes.assign(tx, { owned: opened, issue, actor }, after);
      return loadIssueDetails(tx, opened, issue, actor);
    });
  }
}
