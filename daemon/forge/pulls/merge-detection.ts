import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { findMergeOf } from "../../../storage/git/merge.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import {
  findPull,
  type ForgePull,
  listOpenPullsInto,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeEvents, Subscribers } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";
import type { MarkMerged } from "./merged-pull.ts";

const KIND = "forge.pulls.detect_merges";
const HEADS = "refs/heads/";
/** Branches of one push that are looked at. */
const BRANCHES_MAX = 20;

const payloadSchema = z.object({
  repositoryId: z.int().brand<"RepositoryId">(),
  pusherId: z.int().brand<"UserId">(),
  branch: z.string(),
  before: z.string(),
  after: z.string(),
});
type PushedBranch = z.output<typeof payloadSchema>;

/** Finds pull requests that a push by git has merged, in repositories that wish that, and marks them. */
export function createMergeDetection({
  db,
  git,
  runInFolder,
  enqueue,
  markMerged,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly enqueue: Enqueue;
  readonly markMerged: MarkMerged;
}) {
  return {
    subscribers: { push: enqueueBranches } satisfies Subscribers,
    job: {
      kind: KIND,
      run: async (payload) => detect(parsePayload(payloadSchema, payload)),
    } satisfies JobKind,
  };

  async function enqueueBranches(tx: Transaction, push: ForgeEvents["push"]): Promise<void> {
    const { repository, pusher, changes } = push;
    if (toSettings(repository.settings).autodetect_manual_merge !== true) return;
    const moved = changes.filter(({ ref, before, after }) =>
      Boolean(ref.startsWith(HEADS) && before && after),
    );
    for (const { ref, before, after } of moved.slice(0, BRANCHES_MAX)) {
      const branch = ref.slice(HEADS.length);
      const into = { repositoryId: repository.id, branch };
      if (before === undefined || after === undefined) continue;
      if ((await listOpenPullsInto(tx, repository.id, branch)).length === 0) continue;
      const payload: z.input<typeof payloadSchema> = {
        ...into,
        pusherId: pusher.id,
        before,
        after,
      };
      await enqueue(tx, { kind: KIND, payload, account: String(repository.ownerId) });
    }
  }

  async function detect(push: PushedBranch): Promise<void> {
    const repository = await findRepositoryById(db, push.repositoryId);
    if (repository === undefined) return;
    for (const pull of await listOpenPullsInto(db, push.repositoryId, push.branch)) {
      const commit = await runInFolder(repository, (directory) => findMerge(directory, push, pull));
      if (commit !== undefined) await mark(push, pull, commit);
    }
  }

  /** Returns the commit that merged the head, if the push brought it into the base. */
  async function findMerge(
    directory: string,
    { before, after }: PushedBranch,
    { headCommit: head }: ForgePull,
  ): Promise<string | undefined> {
    if (!(await isAncestor(git, directory, head, after))) return undefined;
    // A head that the base had before the push has nothing to merge.
    if (await isAncestor(git, directory, head, before)) return undefined;
    return findMergeOf(git, { base: after, head }, { directory });
  }

  async function mark(push: PushedBranch, seen: ForgePull, commit: string): Promise<void> {
    await db.transaction(async (tx) => {
      const repository = await findRepositoryById(tx, push.repositoryId);
      const owner = repository && (await findUserById(tx, repository.ownerId));
      const merger = (await findUserById(tx, push.pusherId)) ?? owner;
      const pull = await findPull(tx, seen.issueId);
      const issue = await findIssueById(tx, seen.issueId);
      if (repository === undefined || owner === undefined || merger === undefined) return;
      const isSame = pull?.headCommit === seen.headCommit && pull.baseBranch === push.branch;
      if (!isSame || issue?.isClosed !== false) return;
      const place = { repository, owner };
      await markMerged(tx, {
        place,
        issueId: seen.issueId,
        merger,
        style: "manually-merged",
        commit,
        onto: undefined,
      });
    });
  }
}
