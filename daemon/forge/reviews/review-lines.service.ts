import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { toCommentId, toUserId, type UserId } from "../../../storage/tables/forge/ids.ts";
import {
  type ForgeIssue,
  findIssueById,
  insertMentions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findCommentPlace,
  findReviewLine,
  insertReviewLine,
  listPullLines,
  listReviewLines,
  type PullLinesFilter,
  type ReviewLine,
  resolveReviewLine,
} from "../../../storage/tables/forge/pulls/review-lines.ts";
import {
  type ForgeReview,
  findReviewById,
  listVerdicts,
} from "../../../storage/tables/forge/pulls/reviews.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import { assertRoom, isVisible } from "../issues/changeable-comment.ts";
import { assertUnlocked, canWrite } from "../issues/issue-access.ts";
import { findPeople } from "../issues/issue-details.ts";
import { findMentionedIds } from "../issues/issue-edits.ts";
import type { GrantedRepository } from "../opened.ts";
import { openPull } from "../pulls/open-pull.ts";
import type { PullRefs } from "../pulls/pull-refs.ts";
import { notFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { cleanFilePath } from "../repositories/paths.ts";
import { cutHunks, type DiffLine } from "./diff-hunk.ts";
import { isOfficialReviewer, openReview, type ReviewPath, toViewer } from "./review-access.ts";

/** A comment that a request makes on a line; one of the positions is above 0. */
export interface NewLine {
  readonly path: string;
  readonly body: string;
  readonly newPosition: number;
  readonly oldPosition: number;
}

/** Comments whose lines the diff of a commit has. */
export interface PreparedLines {
  readonly commitId: string;
  readonly lines: readonly (Pick<ReviewLine, "path" | "body" | "hunk"> & DiffLine)[];
}

/** A comment on a line with the records that its view shows. */
export interface ReviewLineDetails {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly line: ReviewLine;
  readonly author: ForgeUser | undefined;
  readonly resolver: ForgeUser | undefined;
}

/** Longest diff of one file in which lines are looked up. */
const DIFF_BYTES_MAX = 8 * 1024 * 1024;

export type ReviewLines = ReturnType<typeof createReviewLines>;

/** Comments on lines of the diff of a pull request. */
export function createReviewLines({
  db,
  git,
  emit,
  refs,
  runInFolder,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly emit: Emit;
  readonly refs: Pick<PullRefs, "bringHead">;
  readonly runInFolder: RunInFolder;
}) {
  return {
    /**
     * Finds the lines of comments in the diff of a commit, the head unless another one is named. Refuses with `not_found` an
     * unknown commit, with `unprocessable` a line that its diff does not have.
     */
    async prepare(
      owned: OwnedRepository,
      pull: ForgePull,
      {
        commitId: wanted,
        lines,
      }: { readonly commitId: string; readonly lines: readonly NewLine[] },
    ): Promise<PreparedLines> {
      await refs.bringHead(owned, pull);
      return runInFolder(owned.repository, async (directory) => {
        const commitId = wanted === "" ? pull.headCommit : await getCommit(directory, wanted);
        const found: PreparedLines["lines"][number][] = [];
        if (lines.length === 0) return { commitId, lines: found };
        const commits = { before: pull.baseCommit, after: commitId };
        const base = (await findMergeBase(git, commits, { directory })) ?? pull.baseCommit;
        const byPath = Map.groupBy(lines, ({ path }) => cleanFilePath(path));
        for (const [path, ofFile] of byPath) {
          const wantedLines = ofFile.map(toDiffLine);
          const diff = await readDiffOf(directory, base, commitId, path);
          for (const [at, hunk] of cutHunks(diff, wantedLines).entries()) {
            const { body } = ofFile[at] ?? { body: "" };
            const line = wantedLines[at];
            if (hunk === undefined || line === undefined)
              throw new AppError("unprocessable", `the diff of ${path} does not have this line`);
            found.push({ path, body, hunk, ...line });
          }
        }
        return { commitId, lines: found };
      });
    },

    /** Refuses with `unprocessable` more comments than a review may have. */
    async insert(
      tx: Transaction,
      {
        review,
        authorId,
        prepared,
      }: {
        readonly review: ForgeReview;
        readonly authorId: UserId;
        readonly prepared: PreparedLines;
      },
    ): Promise<void> {
      const { id: reviewId, issueId } = review;
      const { commitId } = prepared;
      await assertRoom(tx, reviewId, prepared.lines);
      for (const line of prepared.lines)
        await insertReviewLine(tx, { ...line, reviewId, issueId, authorId, commitId });
    },

    /** Returns the comments of a review, oldest first. A list that is too long is truncated. */
    async list(opened: GrantedRepository, path: ReviewPath): Promise<ReviewLineDetails[]> {
      const { issue, review } = await openReview(db, opened, opened.grant.caller, path);
      return loadLines(opened, issue, await listReviewLines(db, review.id));
    },

    /** Returns the comments of the reviews of a pull request that the caller sees, as `list` does, and the count of all. */
    async listOfPull(
      opened: GrantedRepository,
      index: number,
      filter: Pick<PullLinesFilter, "isOutdated" | "reviewIds">,
    ): Promise<{ readonly lines: readonly ReviewLineDetails[]; readonly total: number }> {
      const { issue } = await openPull(db, opened, index);
      const viewer = toViewer(opened.grant.caller);
      const found = await listPullLines(db, { ...filter, issueId: issue.id, viewer });
      return { lines: await loadLines(opened, issue, found.records), total: found.total };
    },

    /**
     * Answers a comment, in the same review and on the same line. Refuses with `invalid_argument` a comment of the conversation,
     * with `unprocessable` more comments than a review may have.
     */
    async reply(
      opened: GrantedRepository,
      caller: ForgeCaller,
      { index, id }: { readonly index: number; readonly id: number },
      body: string,
    ): Promise<ReviewLineDetails> {
      const { issue, line } = await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const { issue: current, pull } = await openPull(tx, owned, index);
        assertUnlocked(owned, current);
        const { line: first, review } = await openLine(tx, owned, caller, id);
        if (first.issueId !== current.id) throw notFound();
        const authorId = caller.user.id;
        const own = { originalAuthor: "", createdAt: tx.now, updatedAt: tx.now };
        await assertRoom(tx, review.id, [{ body, hunk: first.hunk }]);
        const added = await insertReviewLine(tx, { ...first, ...own, authorId, body });
        await insertMentions(tx, current.id, await findMentionedIds(tx, body));
        const change = { owned, issue: current, pull, actor: caller.user, review, reply: added };
        if (review.state !== "pending") await emit(tx, "review", change);
        return { issue: current, line: added };
      });
      const [loaded] = await loadLines(opened, issue, [line]);
      if (loaded === undefined) throw notFound();
      return loaded;
    },

    /**
     * Marks the conversation about a line as resolved, or opens it again: writers, the author of the pull request and
     * official reviewers may. Refuses others with `forbidden`.
     */
    async setResolved(
      opened: GrantedRepository,
      caller: ForgeCaller,
      id: number,
      isResolved: boolean,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const { line, issue } = await openLine(tx, owned, caller, id);
        const { user } = caller;
        const verdicts = await listVerdicts(tx, issue.id);
        const mayResolve =
          canWrite(owned) ||
          isSelf(user, issue.authorId) ||
          (isSelf(user, user.id) && isOfficialReviewer(verdicts, user.id));
        if (!mayResolve)
          throw new AppError(
            "forbidden",
            "only writers, the author and official reviewers may resolve",
          );
        await resolveReviewLine(tx, line.commentId, isResolved ? user.id : undefined);
      });
    },
  };

  async function getCommit(directory: string, name: string): Promise<string> {
    const isId = /^[0-9a-f]{40,64}$/i.test(name);
    const commitId = isId ? await findCommitId(git, directory, name) : undefined;
    if (commitId === undefined) throw new AppError("not_found", `commit ${name} not found`);
    return commitId;
  }

  /** Returns the diff of one file with all its unchanged lines. */
  async function readDiffOf(
    directory: string,
    before: string,
    after: string,
    path: string,
  ): Promise<string> {
    const args = ["diff-tree", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "-U1000000"];
    try {
      const output = await git.run([...args, before, after, "--", path], {
        directory,
        env: { GIT_LITERAL_PATHSPECS: "1" },
        outputBytesMax: DIFF_BYTES_MAX,
      });
      return output.toString("utf8");
    } catch (error) {
      if (!(error instanceof GitError) || error.code !== "too_long") throw error;
      throw new AppError("unprocessable", `${path} is too large for comments on its lines`);
    }
  }

  async function openLine(
    tx: Transaction,
    { repository }: OwnedRepository,
    caller: ForgeCaller,
    id: number,
  ) {
    const place = await findCommentPlace(tx, repository.id, toCommentId(id));
    if (place === undefined) throw notFound();
    if (!place.isOnLine)
      throw new AppError("invalid_argument", "the comment is not about a line of the diff");
    const line = await findReviewLine(tx, toCommentId(id));
    const review = line && (await findReviewById(tx, line.reviewId));
    const issue = await findIssueById(tx, place.issueId);
    const pull = await findPull(tx, place.issueId);
    if (line === undefined || review === undefined || issue === undefined || pull === undefined)
      throw notFound();
    if (!isVisible(review, caller)) throw notFound();
    return { line, review, issue };
  }

  async function loadLines(
    owned: OwnedRepository,
    issue: ForgeIssue,
    lines: readonly ReviewLine[],
  ): Promise<ReviewLineDetails[]> {
    const people = await findPeople(
      db,
      lines.flatMap(({ authorId, resolvedBy }) => [authorId, resolvedBy]),
    );
    const personOf = (id: UserId | undefined) => people.get(id ?? toUserId(-1));
    return lines.map((line) => ({
      owned,
      issue,
      line,
      author: personOf(line.authorId),
      resolver: personOf(line.resolvedBy),
    }));
  }
}

function toDiffLine({ newPosition, oldPosition }: NewLine): DiffLine {
  if (newPosition > 0) return { side: "new", line: newPosition };
  if (oldPosition > 0) return { side: "old", line: oldPosition };
  throw new AppError("unprocessable", "a comment needs new_position or old_position");
}
