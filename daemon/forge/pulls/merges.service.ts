import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { PushId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { insertPullMerge, listPullMerges } from "../../../storage/tables/forge/pulls/merges.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { GrantedRepository } from "../opened.ts";
import type { CopyNamedFiles } from "../large-files/copy-named.ts";
import { notFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { Log } from "../../utilities/logging.ts";
import type { DeleteHead } from "./delete-head.ts";
import { writeMergeCommits } from "./merge-commits.ts";
import {
  assertStyle,
  assertWish,
  type MergeDecision,
  type MergeDecisions,
  type MergeWish,
} from "./merge-decision.ts";
import type { MergeTexts, ReadMergeTexts } from "./merge-texts.ts";
import { type MergeView, readMergeView, toDecisive } from "./merge-view.ts";
import type { MarkMerged } from "./merged-pull.ts";
import { openPull } from "./open-pull.ts";

/** A merge that a caller requests. */
export interface MergeRequest extends MergeWish {
  /** Empty for the default title. */
  readonly title: string;
  readonly text: string;
  /** The commit of the base that has the head, of a merge by hand. */
  readonly manualCommit: string;
  /** Undefined for what the repository does by default. */
  readonly deletesBranch: boolean | undefined;
}

export interface MergesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly writeRefs: WriteRefs;
  /** Records the pushes to a repository that git has made and whose processes have died. */
  readonly recoverPushes: (repositoryId: RepositoryId) => Promise<void>;
  readonly decisions: MergeDecisions;
  readonly readTexts: ReadMergeTexts;
  readonly markMerged: MarkMerged;
  readonly copyNamedFiles: CopyNamedFiles;
  readonly deleteHead: DeleteHead;
  readonly log: Pick<Log, "warn">;
}

const HEADS = "refs/heads/";
/** How often a merge is computed again because something moved meanwhile. */
const ATTEMPTS_MAX = 5;
/** Wait before the second attempt, doubled for each later one: another daemon may be merging. */
const FIRST_WAIT_MS = 50;

/** Thrown in the transaction of a merge when the rows are not those that decided. */
class Overtaken extends Error {}

/** Merges of pull requests. */
export type Merges = ReturnType<typeof createMerges>;

export function createMerges(deps: MergesDeps) {
  const { db, git, runInFolder, writeRefs, decisions, readTexts, markMerged } = deps;
  const { withLocks } = createLocks();
  return {
    /** Refuses with `not_found` a pull request that is not merged. */
    async assertMerged(opened: GrantedRepository, number: number): Promise<void> {
      const { pull } = await openPull(db, opened, number);
      if (pull.mergedAt === undefined) throw notFound();
    },

    /**
     * Refuses what a merge with this wish would refuse, except for the requirements of the rule. A pull request that is not
     * computed yet passes.
     */
    async assertMergeable(
      opened: GrantedRepository,
      caller: ForgeCaller,
      number: number,
      wish: MergeWish,
    ): Promise<void> {
      const view = await read(db, opened, caller, number);
      await decisions.findRule(db, view, caller);
      decisions.assertReady(view, { computed: "may_be" });
      assertWish(view, wish);
    },

    /**
     * Merges a pull request, of several callers at once for one of them. Git moves the base, and the transaction that records
     * its push marks the pull request: after a crash in between, the journal's recovery does that. Refuses as `MergeDecisions`
     * does; with `conflict` when git cannot merge.
     */
    async merge(
      opened: GrantedRepository,
      caller: ForgeCaller,
      number: number,
      request: MergeRequest,
    ): Promise<void> {
      const before = await read(db, opened, caller, number);
      await decisions.findRule(db, before, caller);
      if (request.style === "manually-merged")
        return mergeByHand(opened, caller, number, request.manualCommit);
      decisions.assertReady(before, { computed: "must_be" });
      // Merges of one daemon take turns. Those of another daemon are seen in the transaction.
      const key = `${opened.repository.id} ${before.pull.baseBranch}`;
      await withLocks([key], () => mergeSoon(opened, caller, number, request));
      await deps
        .deleteHead(opened, caller.user, before.pull, request.deletesBranch)
        .catch((error: unknown) =>
          deps.log.warn({ err: error }, "failed to delete the branch of a merged pull request"),
        );
    },
  };

  function read(
    queries: Queries,
    opened: GrantedRepository,
    caller: ForgeCaller,
    number: number,
  ): Promise<MergeView> {
    return readMergeView(queries, opened, caller, number);
  }

  async function mergeSoon(
    opened: GrantedRepository,
    caller: ForgeCaller,
    number: number,
    request: MergeRequest,
  ): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const isMerged = await runInFolder(opened.repository, (directory) =>
        tryMerge(directory, opened, caller, number, request),
      );
      if (isMerged) return;
      if (attempt < ATTEMPTS_MAX) await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
    }
    throw new AppError("conflict", "merge push out of date");
  }

  /** Returns false when something moved meanwhile. */
  async function tryMerge(
    directory: string,
    opened: GrantedRepository,
    caller: ForgeCaller,
    number: number,
    wish: MergeRequest,
  ): Promise<boolean> {
    const view = await read(db, opened, caller, number);
    const rule = await decisions.findRule(db, view, caller);
    // Git says below whether it conflicts with the present base.
    decisions.assertReady(view, { computed: "unused" });
    const ref = HEADS + view.pull.baseBranch;
    const base = await findCommitId(git, directory, ref);
    if (base === undefined) throw new AppError("conflict", "the base branch does not exist");
    const pending = await listPullMerges(db, view.pull.issueId);
    for (const { mergeCommit } of pending) {
      if (!(await isAncestor(git, directory, mergeCommit, base))) continue;
      // Git has made it, and its process has not recorded it.
      await deps.recoverPushes(opened.repository.id);
      return false;
    }
    const decision = await decisions.decide(db, view, { rule, caller, wish, base, directory });
    const texts = await readTexts(directory, view, caller.user, wish);
    const commit = await writeCommits(directory, view, base, wish, texts);
    await copyLargeFiles(directory, view, base);
    const known = new Set(pending.map(({ pushId }) => pushId));
    const check = (tx: Transaction, own?: PushId) =>
      assertUnchanged(tx, opened, caller, { view, decision, known, own });
    const { issueId } = view.pull;
    const { style } = wish;
    try {
      if (commit === base) {
        await db.transaction(async (tx) => {
          const place = await check(tx);
          await markMerged(tx, { place, issueId, merger: caller.user, style, commit, onto: base });
        });
        return true;
      }
      const change = { ref, before: base, after: commit };
      const outcome = await writeRefs(opened, caller.user, [change], {
        async prepareMerge(tx, pushId) {
          await check(tx, pushId);
          const merge = { pushId, issueId, style, mergeCommit: commit, mergedOnto: base };
          await insertPullMerge(tx, merge);
        },
      });
      return outcome === "written";
    } catch (error) {
      if (error instanceof Overtaken) return false;
      throw error;
    }
  }

  /** A fork's clients have uploaded the large files of its commits to the fork only. */
  async function copyLargeFiles(
    directory: string,
    { pull, place }: MergeView,
    base: string,
  ): Promise<void> {
    const { headRepositoryId: from, headCommit: head } = pull;
    const to = place.repository.id;
    if (from === undefined || from === to) return;
    await deps.copyNamedFiles(directory, { from, to }, { head, base });
  }

  async function writeCommits(
    directory: string,
    { pull }: MergeView,
    base: string,
    { style }: MergeWish,
    texts: MergeTexts,
  ): Promise<string> {
    if (style === "manually-merged") throw new Error("a merge by hand writes no commits");
    const merge = { style, base, head: pull.headCommit, ...texts };
    const written = await writeMergeCommits(git, merge, { directory });
    switch (written.kind) {
      case "written":
        return written.commit;
      case "conflict":
        throw new AppError("conflict", "merge failed because of conflict");
      case "rebase_conflict":
        throw new AppError("conflict", "rebase failed because of conflict");
      default:
        throw new AppError("conflict", "the base branch cannot be fast-forwarded to the head");
    }
  }

  /** Throws `Overtaken` unless the rows are still those that decided, and no other merge of the pull request has begun. */
  async function assertUnchanged(
    tx: Transaction,
    opened: GrantedRepository,
    caller: ForgeCaller,
    {
      view,
      decision,
      known,
      own,
    }: {
      readonly view: MergeView;
      readonly decision: MergeDecision;
      readonly known: ReadonlySet<PushId>;
      readonly own: PushId | undefined;
    },
  ): Promise<GrantedRepository> {
    const place = await reopenRepository(tx, opened);
    const current = await read(tx, place, caller, view.issue.number);
    if (!isDeepStrictEqual(toDecisive(view), toDecisive(current))) throw new Overtaken();
    await decisions.assertStillAllowed(tx, current, decision, caller);
    const others = await listPullMerges(tx, view.pull.issueId);
    if (others.some(({ pushId }) => pushId !== own && !known.has(pushId))) throw new Overtaken();
    return place;
  }

  /** Marks a pull request as merged by a commit that the base has. Refuses with `conflict` any other commit. */
  async function mergeByHand(
    opened: GrantedRepository,
    caller: ForgeCaller,
    number: number,
    commit: string,
  ): Promise<void> {
    const view = await read(db, opened, caller, number);
    assertStyle(view, "manually-merged");
    const ref = HEADS + view.pull.baseBranch;
    const isThere =
      /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(commit) &&
      (await runInFolder(opened.repository, async (directory) => {
        const base = await findCommitId(git, directory, ref);
        const found = base && (await findCommitId(git, directory, commit));
        return (
          base !== undefined &&
          found !== undefined &&
          (await isAncestor(git, directory, found, base))
        );
      }));
    if (!isThere) throw new AppError("conflict", "Wrong commit ID");
    const rule = await decisions.findRule(db, view, caller);
    await db.transaction(async (tx) => {
      const decision = { rule, isOverriding: false };
      const others = await listPullMerges(tx, view.pull.issueId);
      const known = new Set(others.map(({ pushId }) => pushId));
      const place = await assertUnchanged(tx, opened, caller, {
        view,
        decision,
        known,
        own: undefined,
      });
      const merger = caller.user;
      const made = { place, issueId: view.pull.issueId, merger, style: "manually-merged" } as const;
      await markMerged(tx, { ...made, commit: commit.toLowerCase(), onto: undefined });
    });
  }
}
