import type { Database } from "../../../storage/engine/database.ts";
import { listAssignees } from "../../../storage/tables/forge/issues/issues.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import { findAssignees, isAssignable, listAssignableUsers } from "./assignable-users.ts";
import { openIssue } from "./issue-access.ts";
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { IssueChanges } from "./issue-changes.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** The assignees of issues, and the users who may be assigned. */
export type Assignees = ReturnType<typeof createAssignees>;

export function createAssignees({
  db,
  changes,
}: {
  readonly db: Database;
  readonly changes: IssueChanges;
}) {
  return {
    /** Adds users to the assignees; idempotent. Throws `not_found` for a missing issue, `unprocessable` for a missing user. */
    add: (
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      names: readonly string[],
    ) =>
      change(opened, number, caller, names, (before, named) => [...new Set([...before, ...named])]),

    /** Removes users from the assignees; idempotent. Throws as `add` does. */
    remove: (
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      names: readonly string[],
    ) =>
      change(opened, number, caller, names, (before, named) =>
        before.filter((id) => !named.includes(id)),
      ),

    /** Refuses with `not_found` a user who may not read the issues of the repository. */
    async assertAssignable(
      opened: GrantedRepository,
      name: string,
      caller: ForgeCaller | undefined,
    ): Promise<void> {
      if (!(await isAssignable(db, opened, name, caller?.user))) throw notFound();
    },

    /** Refuses as `assertAssignable` does, and a missing issue with `not_found`. */
    async assertAssignableTo(
      opened: GrantedRepository,
      number: number,
      name: string,
      caller: ForgeCaller | undefined,
    ): Promise<void> {
      await openIssue(db, opened, number);
      if (!(await isAssignable(db, opened, name, caller?.user))) throw notFound();
    },

    /** See `listAssignableUsers`. */
    list: (
      opened: GrantedRepository,
      caller: ForgeCaller | undefined,
    ): Promise<readonly ForgeUser[]> => listAssignableUsers(db, opened, caller),
  };

  async function change(
    place: GrantedRepository,
    number: number,
    caller: ForgeCaller,
    names: readonly string[],
    combine: (before: readonly UserId[], named: readonly UserId[]) => readonly UserId[],
  ): Promise<IssueDetails> {
    const actor = caller.user;
    return db.transaction(async (tx) => {
      const opened = await reopenRepository(tx, place);
      const issue = await openIssue(tx, opened, number);
      const named = await findAssignees(tx, opened, names);
      const after = combine(await listAssignees(tx, issue.id), named);
      await changes.assign(tx, { owned: opened, issue, actor }, after);
      return loadIssueDetails(tx, opened, issue, actor);
    });
  }
}
