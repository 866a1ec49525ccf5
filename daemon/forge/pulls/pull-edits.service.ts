import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import { type ForgePull, updatePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { listUsableLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { Emit } from "../events.ts";
import { assertMayChange, canWrite } from "../issues/issue-access.ts";
import type { IssueChanges } from "../issues/issue-changes.ts";
import { assertMilestone, assertNoOpenPull, type IssueEdits } from "../issues/issue-edits.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { type OpenedPull, openPull } from "./open-pull.ts";
import { loadPullDetails, type PullDetails } from "./pull-details.ts";
import type { PullEdit } from "./pull-requests.ts";
import type { PullRefs } from "./pull-refs.ts";

/** Edits of pull requests. */
export type PullEdits = ReturnType<typeof createPullEdits>;

export function createPullEdits({
  db,
  emit,
  changes,
  edits,
  refs,
}: {
  readonly db: Database;
  readonly emit: Emit;
  readonly changes: IssueChanges;
  readonly edits: IssueEdits;
  readonly refs: PullRefs;
}) {
  return {
    /**
     * Edits a pull request, for its author and callers with write access; a refusal changes nothing. Labels, assignees and
     * milestone of a caller without write access are ignored. Only the author decides whether maintainers may push.
     */
    async edit(
      opened: GrantedRepository,
      caller: ForgeCaller,
      number: number,
      edit: PullEdit,
    ): Promise<PullDetails> {
      const newBase = await findNewBase(opened, number, edit.baseBranch);
      return db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const before = await openPull(tx, place, number);
        assertMayChange(place, before.issue.authorId, caller.user);
        const isClosed = toIsClosed(edit.state);
        let { pull } = before;
        pull = await changeMaintainerEdit(tx, before, caller, edit.allowsMaintainerEdit);
        if (newBase !== undefined)
          pull = await retarget(tx, place, { issue: before.issue, pull }, caller.user, newBase);
        const { labelIds, milestoneId } = canWrite(place)
          ? edit
          : { labelIds: undefined, milestoneId: undefined };
        await assertMilestone(tx, place.repository.id, milestoneId);
        const issue = await edits.apply(
          tx,
          { opened: place, before: before.issue, actor: caller.user },
          { ...edit, ref: undefined, isClosed, milestoneId },
        );
        if (labelIds !== undefined) {
          const labels = await listUsableLabels(tx, place.repository, { ids: labelIds, names: [] });
          await changes.changeLabels(tx, { owned: place, issue, actor: caller.user }, labels);
        }
        const current = await openPull(tx, place, number);
        return loadPullDetails(tx, caller, place, current);
      });
    },
  };

  /** Returns the branch that becomes the base, with its commit; undefined when the base stays. */
  async function findNewBase(
    opened: GrantedRepository,
    number: number,
    branch: string | undefined,
  ): Promise<NewBase | undefined> {
    if (branch === undefined) return undefined;
    const { pull } = await openPull(db, opened, number);
    if (pull.baseBranch === branch) return undefined;
    const found = await refs.findBranch(opened.repository, branch);
    if (found.kind !== "branch") throw new AppError("not_found", `new base '${branch}' not exist`);
    return { branch, commitId: found.commitId };
  }

  async function retarget(
    tx: Transaction,
    place: GrantedRepository,
    { issue, pull }: OpenedPull,
    actor: ForgeUser,
    { branch, commitId }: NewBase,
  ): Promise<ForgePull> {
    if (issue.isClosed)
      throw new AppError("unprocessable", "the base of a closed pull request cannot be changed");
    if (pull.headRepositoryId === pull.repositoryId && pull.headBranch === branch)
      throw new AppError("unprocessable", "the head cannot be the base");
    await assertNoOpenPull(tx, { ...pull, baseBranch: branch });
    const changed = await updatePull(tx, issue.id, {
      baseBranch: branch,
      baseCommit: commitId,
      state: "checking",
    });
    if (changed === undefined) throw notFound();
    const details = { oldRef: pull.baseBranch, newRef: branch };
    await insertEvents(tx, issue.id, actor.id, [{ kind: "change_target_branch", details }]);
    const change = { owned: place, issue, actor, pull: changed };
    await emit(tx, "pull", {
      ...change,
      action: "retargeted",
      changes: { ref: { from: pull.baseBranch } },
    });
    return changed;
  }
}

interface NewBase {
  readonly branch: string;
  readonly commitId: string;
}

async function changeMaintainerEdit(
  tx: Transaction,
  { issue, pull }: OpenedPull,
  { user }: ForgeCaller,
  allowsMaintainerEdit: boolean | undefined,
): Promise<ForgePull> {
  if (allowsMaintainerEdit === undefined) return pull;
  if (!isSelf(user, issue.authorId))
    throw new AppError("forbidden", "SetAllowEdits: user not allowed to do this action");
  return (await updatePull(tx, issue.id, { allowsMaintainerEdit })) ?? pull;
}

function toIsClosed(state: string | undefined): boolean | undefined {
  if (state === undefined) return undefined;
  if (state !== "open" && state !== "closed")
    throw new AppError("precondition_failed", `unknown state: ${state}`);
  return state === "closed";
}
