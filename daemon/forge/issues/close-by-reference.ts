import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { hasOpenBlocker } from "../../../storage/tables/forge/issues/dependencies.ts";
import { type ForgeIssue, updateIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { hasCommitEvent, insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { hasDependencies } from "../repositories/repository-settings.view.ts";
import { finishStopwatch } from "./tracked-times.service.ts";

/** An issue whose state a commit changes. */
export interface ReferencedIssue {
  readonly target: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly actor: ForgeUser;
  readonly commitId: string;
}

/** Closes or reopens an issue, once for each commit. An issue with open dependencies stays open. */
export async function changeStateByCommit(
  tx: Transaction,
  emit: Emit,
  { target, issue, actor, commitId }: ReferencedIssue,
  action: "close" | "reopen",
): Promise<void> {
  const isClosed = action === "close";
  if (issue.isClosed === isClosed || (await hasCommitEvent(tx, issue.id, action, commitId))) return;
  const isBlocked =
    hasDependencies(target.repository.settings) && (await hasOpenBlocker(tx, issue.id));
  if (isClosed && isBlocked) return;
  const closedAt = isClosed ? tx.now : undefined;
  const current = await updateIssue(tx, issue.id, { isClosed, closedAt });
  if (current === undefined) return;
  await insertEvents(tx, issue.id, actor.id, [{ kind: action, details: { commitId } }]);
  if (isClosed) await finishStopwatch(tx, actor.id, issue.id);
  const change = { owned: target, issue: current, actor };
  await emit(tx, "issue", { ...change, action: isClosed ? "closed" : "reopened" });
}

/** Returns whether a user could close or reopen an issue by hand. */
export async function mayChangeState(
  db: Queries,
  { target, issue }: Pick<ReferencedIssue, "target" | "issue">,
  userId: UserId | undefined,
): Promise<boolean> {
  const user = userId === undefined ? undefined : await findUserById(db, userId);
  if (user === undefined) return false;
  const access = await findAccess(db, target, user, "repo.issues");
  if (reaches(access, "read") && user.id === issue.authorId) return true;
  return reaches(access, "write") || reaches(await findAccess(db, target, user), "write");
}
