import type { Database } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  type ForgePull,
  listOpenPullsFrom,
  updatePull,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { ActingUser } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";

/**
 * Deletes the head branch of a merged pull request, if the merger or else the repository wishes that. Keeps a branch that the
 * merger cannot write, that a rule protects, that has moved, that is the default one, or that another open pull request has.
 */
export type DeleteHead = (
  base: OwnedRepository,
  merger: ActingUser,
  pull: ForgePull,
  isWished: boolean | undefined,
) => Promise<void>;

export function createDeleteHead({
  db,
  writeRefs,
}: {
  readonly db: Database;
  readonly writeRefs: WriteRefs;
}): DeleteHead {
  return async ({ repository: base }, merger, pull, isWished) => {
    const byDefault = toSettings(base.settings).default_delete_branch_after_merge === true;
    if (!(isWished ?? byDefault) || pull.headBranch === "" || pull.isHeadGone) return;
    const { headRepositoryId, headBranch, headCommit } = pull;
    const repository =
      headRepositoryId === undefined ? undefined : await findRepositoryById(db, headRepositoryId);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) return;
    if (repository.archivedAt !== undefined || repository.defaultBranch === headBranch) return;
    const owned = { repository, owner };
    if (!reaches(await findAccess(db, owned, merger), "write")) return;
    if ((await listOpenPullsFrom(db, repository.id, headBranch)).length > 0) return;
    const change = { ref: `refs/heads/${headBranch}`, before: headCommit, after: undefined };
    try {
      if ((await writeRefs(owned, merger, [change])) !== "written") return;
      await db.transaction(async (tx) => {
        await updatePull(tx, pull.issueId, { isHeadGone: true });
        const details = { oldRef: headBranch };
        await insertEvents(tx, pull.issueId, merger.id, [{ kind: "delete_branch", details }]);
      });
    } catch (error) {
      // A rule protects the branch.
      if (!(error instanceof AppError && error.code === "forbidden")) throw error;
    }
  };
}
