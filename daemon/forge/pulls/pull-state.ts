import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findCommits } from "../../../storage/git/ref-files.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { countCommits } from "../../../storage/git/commits.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import { mergeTrees } from "../../../storage/git/merge.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import {
  type ComputedPull,
  type ForgePull,
  listCheckingPulls,
  movePull,
  type PullCounts,
  saveComputedPull,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import type { Subscribers } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { PullFiles } from "./pull-files.ts";
import { type PullRefs, toPullRef } from "./pull-refs.ts";

const KIND = "forge.pulls.state";
const FOLLOW_UP = "forge.pulls.follow_up";
/** Pull requests of one job; the rest is left to the next one, so that other repositories are served in between. */
const PULLS_PER_JOB = 20;
/** Conflicted paths that are kept, and their characters. */
const PATHS_MAX = 100;
const PATH_CHARACTERS_MAX = 10_000;
const COUNTS_CACHED = 5_000;
const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });
const followUpSchema = z.object({ issueId: z.int().brand<"IssueId">() });

export interface PullStateDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly enqueue: Enqueue;
  readonly refs: PullRefs;
  readonly files: PullFiles;
  /** A key for a folder of objects that no other running call uses. */
  readonly newKey: () => string;
  /** Called after the result of a pull request is written, at least once. */
  readonly onComputed: (issueId: IssueId) => Promise<void>;
}

/** Computes what git says of pull requests. */
export type PullState = ReturnType<typeof createPullState>;

/**
 * Computes the merge base, the conflicts and the counts of pull requests by a job, one git at a time. A change marks the rows
 * as `checking` and enqueues the job of the repository, so a burst of pushes is computed once. What follows from a result is
 * a job of its own for each pull request: one that fails keeps no other waiting.
 */
export function createPullState(deps: PullStateDeps) {
  const { db, git, runInFolder, enqueue, refs, files, newKey, onComputed } = deps;
  const counts = createLruCache<PullCounts>({ valueLengthMax: 1, lengthMax: COUNTS_CACHED });
  return {
    computeSoon,
    count,

    subscribers: {
      async issue(tx, { owned, issue, action }) {
        if (issue.isPull && (action === "opened" || action === "reopened"))
          await computeSoon(tx, owned.repository);
      },
      async pull(tx, { owned, action }) {
        if (action === "retargeted") await computeSoon(tx, owned.repository);
      },
    } satisfies Subscribers,

    jobs: [
      {
        kind: KIND,
        inTurns: true,
        async run(payload, { signal }) {
          const { repositoryId } = parsePayload(payloadSchema, payload);
          const repository = await findRepositoryById(db, repositoryId);
          if (repository === undefined) return;
          for (const pull of await listCheckingPulls(db, repositoryId, PULLS_PER_JOB)) {
            signal.throwIfAborted();
            await computeOne(repository, pull, signal);
          }
          await db.transaction(async (tx) => {
            if ((await listCheckingPulls(tx, repositoryId, 1)).length > 0)
              await computeSoon(tx, repository);
          });
        },
      },
      {
        kind: FOLLOW_UP,
        inTurns: true,
        run: (payload) => onComputed(parsePayload(followUpSchema, payload).issueId),
      },
    ] satisfies JobKind[],
  };

  async function computeSoon(
    tx: Transaction,
    { id, ownerId }: Pick<ForgeRepository, "id" | "ownerId">,
  ): Promise<void> {
    const payload: z.input<typeof payloadSchema> = { repositoryId: id };
    await enqueue(tx, { kind: KIND, payload, key: String(id), account: String(ownerId) });
  }

  async function computeOne(
    repository: ForgeRepository,
    found: ForgePull,
    signal: AbortSignal,
  ): Promise<void> {
    const pull = await followBranches(repository, found, signal);
    try {
      if (!pull.isServed) await refs.writeHead(pull.issueId);
      const computed = await runInFolder(repository, (directory) =>
        compute(pull, { directory, signal }),
      );
      await save(repository, pull, computed);
    } catch (error) {
      // Another attempt would fail alike; a passing failure is retried with backoff.
      if (!(error instanceof GitError) || (error.code !== "failed" && error.code !== "too_long"))
        throw error;
      await saveComputedPull(db, pull, { ...nothing, mergeBase: pull.mergeBase });
    }
  }

  /** Writes a result, and with it the job that does what follows from it: a crash in between loses neither. */
  async function save(
    { ownerId }: ForgeRepository,
    pull: ForgePull,
    computed: ComputedPull,
  ): Promise<void> {
    await db.transaction(async (tx) => {
      if (!(await saveComputedPull(tx, pull, computed))) return;
      const { issueId } = pull;
      const payload: z.input<typeof followUpSchema> = { issueId };
      await enqueue(tx, {
        kind: FOLLOW_UP,
        payload,
        key: String(issueId),
        account: String(ownerId),
      });
    });
  }

  /**
   * Returns the pull request with the current commits of its branches, which may have moved while it was closed, and whether
   * git serves its head already. One git reads all refs of one repository.
   */
  async function followBranches(
    base: ForgeRepository,
    pull: ForgePull,
    signal: AbortSignal,
  ): Promise<ForgePull & { readonly isServed: boolean }> {
    const { headRepositoryId, headBranch } = pull;
    const issue = await findIssueById(db, pull.issueId);
    const hasHead = headRepositoryId !== undefined && headBranch !== "" && !pull.isHeadGone;
    const headRef = `refs/heads/${headBranch}`;
    const isOwnHead = hasHead && headRepositoryId === base.id;
    const [baseCommit = pull.baseCommit, served, own] = await findTips(
      base,
      [
        `refs/heads/${pull.baseBranch}`,
        toPullRef(issue?.number ?? 0),
        ...(isOwnHead ? [headRef] : []),
      ],
      signal,
    );
    const fork = hasHead && !isOwnHead ? await findRepositoryById(db, headRepositoryId) : undefined;
    const [ofFork] = fork === undefined ? [] : await findTips(fork, [headRef], signal);
    const headCommit = own ?? ofFork ?? pull.headCommit;
    const isMoved = baseCommit !== pull.baseCommit || headCommit !== pull.headCommit;
    const current = isMoved ? await movePull(db, pull, { baseCommit, headCommit }) : pull;
    return { ...(current ?? pull), isServed: served === headCommit };
  }

  function findTips(
    repository: ForgeRepository,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<(string | undefined)[]> {
    return runInFolder(repository, (directory) => findCommits(git, names, { directory, signal }));
  }

  async function compute(pull: ForgePull, options: ReadOptions): Promise<ComputedPull> {
    const { headCommit: head, baseCommit: base } = pull;
    const mergeBase = await findMergeBase(git, { before: base, after: head }, options);
    const counted = await count(pull, mergeBase, options);
    const shared = { ...nothing, ...counted, mergeBase: mergeBase ?? "" };
    if (mergeBase === head || mergeBase === base) return { ...shared, state: "mergeable" };
    await using quarantine = await openQuarantine(options.directory, newKey());
    const merged = await mergeTrees(git, base, head, { ...options, ...quarantineEnv(quarantine) });
    if (merged.kind === "merged") return { ...shared, state: "mergeable" };
    return { ...shared, state: "conflict", conflictedPaths: withinBounds(merged.paths) };
  }

  /** Counts what a pull request changes. The counts of the same two commits never change. */
  async function count(
    { headCommit, baseCommit, repositoryId }: ComparedCommits,
    mergeBase: string | undefined,
    options: ReadOptions,
  ): Promise<PullCounts> {
    const before = mergeBase ?? baseCommit;
    const key = `${repositoryId} ${before} ${headCommit}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    const diff = await files.list(repositoryId, { before, after: headCommit }, options);
    const { additions, deletions, changedFiles } = diff;
    const commits = await countCommits(git, options.directory, [headCommit, `^${before}`]);
    const counted = { additions, deletions, changedFiles, commits };
    counts.set(key, counted, 1);
    return counted;
  }
}

type ComparedCommits = Pick<ForgePull, "headCommit" | "baseCommit" | "repositoryId">;

const nothing: ComputedPull = {
  state: "failed",
  mergeBase: "",
  conflictedPaths: [],
  additions: 0,
  deletions: 0,
  changedFiles: 0,
  commits: 0,
};

/** Merging writes objects, which nothing refers to afterwards. */
const quarantineEnv = ({ env }: { readonly env: Readonly<Record<string, string>> }) => ({ env });

function withinBounds(paths: readonly string[]): readonly string[] {
  let room = PATH_CHARACTERS_MAX;
  return paths.slice(0, PATHS_MAX).filter(({ length }) => (room -= length) > 0);
}
