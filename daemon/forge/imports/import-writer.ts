import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId, RepositoryId, UserId } from "../../../storage/tables/forge/ids.ts";
import { insertImportedComment } from "../../../storage/tables/forge/issues/comments.ts";
import { insertIssueLabels } from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  findIssue,
  type ForgeIssue,
  insertImportedIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { findMilestone, insertMilestone } from "../../../storage/tables/forge/issues/milestones.ts";
import {
  type ForgePull,
  insertImportedPull,
  type PullCounts,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  countLabels,
  findLabel,
  insertLabels,
} from "../../../storage/tables/forge/repositories/labels.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { toPullRef } from "../pulls/pull-refs.ts";
import type { SourceComment, SourceIssue, SourceLabel, SourceMilestone } from "./source.ts";

/** How many items of a page were added. The others are there already, or do not fit. */
export interface Written {
  readonly imported: number;
  readonly skipped: number;
}

/** The repository that gets the items, and the person who imports. */
export interface ImportTarget {
  readonly repository: ForgeRepository;
  readonly actor: ForgeUser;
}

/** Labels of one repository: lists of labels include all of them. */
const LABELS_MAX = 2_000;

/** Adds labels whose names the repository does not have. */
export async function writeLabels(
  tx: Transaction,
  { repository: { id: repositoryId } }: ImportTarget,
  items: readonly SourceLabel[],
): Promise<Written> {
  let imported = 0;
  let room = LABELS_MAX - (await countLabels(tx, { repositoryId }));
  for (const { isArchived, ...label } of items) {
    if (room <= 0) break;
    if ((await findLabel(tx, { repositoryId }, { name: label.name })) !== undefined) continue;
    const archivedAt = isArchived ? tx.now : undefined;
    await insertLabels(tx, { repositoryId }, [{ ...label, archivedAt }]);
    imported += 1;
    room -= 1;
  }
  return { imported, skipped: items.length - imported };
}

/** Adds milestones whose titles the repository does not have. */
export async function writeMilestones(
  tx: Transaction,
  { repository: { id } }: ImportTarget,
  items: readonly SourceMilestone[],
): Promise<Written> {
  let imported = 0;
  for (const milestone of items) {
    if ((await findMilestone(tx, id, { title: milestone.title })) !== undefined) continue;
    await insertMilestone(tx, id, milestone);
    imported += 1;
  }
  return { imported, skipped: items.length - imported };
}

/** Counts what a pull request changes, as those of this server are counted. */
export type CountPull = (
  pull: Pick<ForgePull, "headCommit" | "baseCommit" | "repositoryId">,
  mergeBase: string | undefined,
  options: { readonly directory: string; readonly signal: AbortSignal },
) => Promise<PullCounts>;

/** A pull request with its commits here; without them it becomes an issue. */
export interface PreparedIssue {
  readonly issue: SourceIssue;
  readonly commits: PullCommits | undefined;
}

interface PullCommits {
  readonly headCommit: string;
  readonly baseCommit: string;
  readonly mergeBase: string;
  readonly hasOwnHead: boolean;
  readonly counts: PullCounts;
}

/** Adds issues and pull requests whose numbers are free. */
export async function writeIssues(
  tx: Transaction,
  target: ImportTarget,
  items: readonly PreparedIssue[],
): Promise<Written> {
  const { id: repositoryId } = target.repository;
  const findAuthor = createAuthors(tx, target.actor);
  const findMilestoneId = remember(
    async (title: string) => (await findMilestone(tx, repositoryId, { title }))?.id,
  );
  const findLabelId = remember(
    async (name: string) => (await findLabel(tx, { repositoryId }, { name }))?.id,
  );
  let imported = 0;
  // Ids follow the numbers, as far as the pages allow: lists order issues of the same second by id.
  for (const { issue, commits } of items.toSorted((a, b) => a.issue.number - b.issue.number)) {
    const isPull = issue.pull !== undefined && commits !== undefined;
    const added = await insertImportedIssue(tx, {
      repositoryId,
      number: issue.number,
      isPull,
      authorId: await findAuthor(issue.author),
      originalAuthor: issue.author,
      title: issue.title,
      body: issue.body,
      isClosed: issue.isClosed,
      dueAt: issue.dueAt,
      milestoneId:
        issue.milestone === undefined ? undefined : await findMilestoneId(issue.milestone),
      lockedAt: issue.isLocked ? issue.updatedAt : undefined,
      closedAt: issue.closedAt,
      createdAt: issue.createdAt,
      updatedAt: issue.updatedAt,
    });
    if (added === undefined) continue;
    imported += 1;
    const labelIds = await Promise.all(issue.labels.map(findLabelId));
    await insertIssueLabels(
      tx,
      added.id,
      labelIds.filter((id) => id !== undefined),
    );
    if (isPull) await writePull(tx, target, added, { pull: issue.pull, ...commits });
  }
  return { imported, skipped: items.length - imported };
}

async function writePull(
  tx: Transaction,
  { repository: { id: repositoryId } }: ImportTarget,
  issue: ForgeIssue,
  {
    pull,
    headCommit,
    baseCommit,
    mergeBase,
    hasOwnHead,
    counts,
  }: PullCommits & { readonly pull: NonNullable<SourceIssue["pull"]> },
): Promise<void> {
  await insertImportedPull(tx, {
    issueId: issue.id,
    repositoryId,
    baseBranch: pull.baseBranch,
    headRepositoryId: hasOwnHead ? repositoryId : undefined,
    headBranch: pull.headBranch,
    isHeadGone: !hasOwnHead,
    headCommit,
    baseCommit,
    mergeBase,
    allowsMaintainerEdit: false,
    // The conflicts of a closed one do not matter.
    state: issue.isClosed ? "mergeable" : "checking",
    mergedAt: pull.mergedAt,
    mergedBy: undefined,
    mergeCommit: pull.mergeCommit,
    ...counts,
  });
}

/** Adds comments to the issues that exist here. */
export async function writeComments(
  tx: Transaction,
  { repository: { id: repositoryId }, actor }: ImportTarget,
  items: readonly SourceComment[],
): Promise<Written> {
  const findAuthor = createAuthors(tx, actor);
  const findIssueId = remember(async (number: number) =>
    findImportedIssue(tx, repositoryId, number),
  );
  let imported = 0;
  for (const { number, author, ...comment } of items) {
    const issueId = await findIssueId(number);
    if (issueId === undefined) continue;
    const authorId = await findAuthor(author);
    await insertImportedComment(tx, { ...comment, issueId, authorId, originalAuthor: author });
    imported += 1;
  }
  return { imported, skipped: items.length - imported };
}

/** Comments of the source do not belong to issues that were written here meanwhile. */
async function findImportedIssue(
  db: Queries,
  repositoryId: RepositoryId,
  number: number,
): Promise<IssueId | undefined> {
  const issue = await findIssue(db, repositoryId, number);
  return issue !== undefined && issue.originalAuthor !== "" ? issue.id : undefined;
}

/**
 * Returns who counts as the author here. Anyone may import, and a source may name anyone as an author. So only a site
 * administrator's import finds the accounts of the same names; otherwise the importing person is the author. The name at the
 * source is kept in any case.
 */
export function createAuthors(db: Queries, actor: ForgeUser): (name: string) => Promise<UserId> {
  return remember(async (name: string) => {
    if (!actor.isAdmin) return actor.id;
    const found = await findUserByName(db, name);
    return found?.kind === "individual" ? found.id : actor.id;
  });
}

function remember<K, V>(find: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const known = new Map<K, Promise<V>>();
  return (key) => {
    const found = known.get(key) ?? find(key);
    known.set(key, found);
    return found;
  };
}

/** A name that no repository has. */
const NO_REF = "refs/none";

/** Those of an open one are computed by a job once the import is done. */
const UNCOUNTED: PullCounts = { additions: 0, deletions: 0, changedFiles: 0, commits: 0 };

/** Finds the commits of pull requests of a page, and counts what the closed ones change. */
export function createPullPreparation({
  git,
  runInFolder,
  countPull,
}: {
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly countPull: CountPull;
}) {
  return (
    repository: ForgeRepository,
    items: readonly SourceIssue[],
    signal: AbortSignal,
  ): Promise<PreparedIssue[]> =>
    runInFolder(repository, async (directory) => {
      const options = { directory, signal };
      const names = items.flatMap(({ number, pull }) => [
        toPullRef(number),
        ...[pull?.baseBranch, pull?.headBranch].map((name) =>
          name !== undefined && isRefName(name) ? `refs/heads/${name}` : NO_REF,
        ),
        /^[0-9a-f]{40,64}$/.test(pull?.baseCommit ?? "") ? (pull?.baseCommit ?? "") : NO_REF,
      ]);
      const commits = names.map((name) => `${name}^{commit}`);
      const found = await findObjects(git, commits, options);
      const prepared: PreparedIssue[] = [];
      for (const [index, issue] of items.entries()) {
        const [head, base, own, baseAt] = found.slice(4 * index, 4 * index + 4);
        const { pull } = issue;
        const isOpen = !issue.isClosed;
        const before = (isOpen ? (base ?? baseAt) : (baseAt ?? base))?.id;
        if (pull === undefined || head === undefined || before === undefined) {
          prepared.push({ issue, commits: undefined });
          continue;
        }
        const ends = { headCommit: head.id, baseCommit: before };
        const computed = isOpen
          ? { mergeBase: "", counts: UNCOUNTED }
          : await compute({ ...ends, repositoryId: repository.id }, options);
        const hasOwnHead = pull.isOwnHead && own?.id === head.id;
        prepared.push({ issue, commits: { ...ends, ...computed, hasOwnHead } });
      }
      return prepared;
    });

  /** Histories that git cannot compare have no base and no counts. */
  async function compute(
    ends: Parameters<CountPull>[0],
    options: { readonly directory: string; readonly signal: AbortSignal },
  ): Promise<Pick<PullCommits, "mergeBase" | "counts">> {
    try {
      const between = { before: ends.baseCommit, after: ends.headCommit };
      const mergeBase = await findMergeBase(git, between, options);
      return { mergeBase: mergeBase ?? "", counts: await countPull(ends, mergeBase, options) };
    } catch (error) {
      if (error instanceof GitError && (error.code === "failed" || error.code === "too_long"))
        return { mergeBase: "", counts: UNCOUNTED };
      throw error;
    }
  }
}
