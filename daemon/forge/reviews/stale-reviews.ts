import type { Database } from "../../../storage/engine/database.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findPull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { listVerdicts, updateReview } from "../../../storage/tables/forge/pulls/reviews.ts";
import { listBranchProtections } from "../../../storage/tables/forge/repositories/branch-protections.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Compute } from "../compute.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { findRules } from "../repositories/protected-refs.ts";

/** A longer diff counts as changed, without a comparison. */
const DIFF_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Marks the verdicts about a pull request as stale whose reviewers saw other changes than the head has now, and dismisses
 * such approvals if the rule of the base says so. A head that only took over commits of the base makes nothing stale.
 */
export function createMarkStale({
  db,
  git,
  compute,
  runInFolder,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly compute: Compute;
  readonly runInFolder: RunInFolder;
}) {
  return async (issueId: IssueId): Promise<void> => {
    const pull = await findPull(db, issueId);
    const base = pull && (await findRepositoryById(db, pull.repositoryId));
    if (pull === undefined || base === undefined) return;
    const { headCommit, baseCommit, baseBranch } = pull;
    const older = (await listVerdicts(db, issueId)).filter(
      ({ commitId, isStale }) => !isStale && commitId !== headCommit,
    );
    if (older.length === 0) return;
    const changed = await runInFolder(base, async (directory) => {
      const now = await readPatchId(directory, baseCommit, headCommit);
      const reviewed = new Set(older.map(({ commitId }) => commitId));
      const ids = new Set<string>();
      for (const commitId of reviewed)
        if (now === undefined || (await readPatchId(directory, baseCommit, commitId)) !== now)
          ids.add(commitId);
      return ids;
    });
    const rules = await listBranchProtections(db, base.id);
    const rule = (await findRules(compute, base, rules, [baseBranch]))(baseBranch);
    const dismisses = rule?.settings.flags["dismiss_stale_approvals"] === true;
    await db.transaction(async (tx) => {
      // Meanwhile the head may have moved on, or a reviewer have looked at it.
      if ((await findPull(tx, issueId))?.headCommit !== headCommit) return;
      for (const { id, state, commitId, isStale, isDismissed } of await listVerdicts(tx, issueId)) {
        if (isStale || !changed.has(commitId)) continue;
        const dismissed = isDismissed || (dismisses && state === "approved");
        await updateReview(tx, id, { isStale: true, isDismissed: dismissed });
      }
    });
  };

  /** Returns an id of the changes that lead to a commit, whatever their lines are numbered; undefined when it cannot be read. */
  async function readPatchId(
    directory: string,
    base: string,
    commit: string,
  ): Promise<string | undefined> {
    if ((await findCommitId(git, directory, commit)) === undefined) return undefined;
    const before =
      (await findMergeBase(git, { before: base, after: commit }, { directory })) ?? base;
    try {
      const args = [
        "diff-tree",
        "-p",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--full-index",
      ];
      const diff = await git.run([...args, before, commit], {
        directory,
        outputBytesMax: DIFF_BYTES_MAX,
      });
      const id = await git.run(["patch-id", "--stable"], { directory, input: diff });
      return id.toString("latin1").split(" ")[0] ?? "";
    } catch (error) {
      if (error instanceof GitError && error.code === "too_long") return undefined;
      throw error;
    }
  }
}
