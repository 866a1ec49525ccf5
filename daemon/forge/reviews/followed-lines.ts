import type { Database } from "../../../storage/engine/database.ts";
import { findMergeBase } from "../../../storage/git/changed-paths.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  listUnfollowedLines,
  moveReviewLine,
  type ReviewLine,
} from "../../../storage/tables/forge/pulls/review-lines.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";

/** Comments that one push moves, and changed files of them that are compared; others stay where they were. */
const LINES_MAX = 1_000;
const FILES_MAX = 200;
/** In a longer difference of one file, a line counts as changed. */
const DIFF_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Returns the number of an unchanged line after a change of its file; undefined when the change replaced or removed it.
 * @param diff of the file, without context; empty when it did not change
 */
export function followLine(diff: string, line: number): number | undefined {
  if (/^(?:Binary files|GIT binary patch)/m.test(diff)) return undefined;
  let moved = line;
  for (const [, start = "", before = "1", after = "1"] of diff.matchAll(
    /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/gm,
  )) {
    const [first, removed, added] = [Number(start), Number(before), Number(after)];
    // Without removed lines, the header names the line before the new ones.
    const last = removed === 0 ? first : first + removed - 1;
    if (removed > 0 && line >= first && line <= last) return undefined;
    if (line <= last) break;
    moved += added - removed;
  }
  return moved;
}

/** Returns where lines of a file in one commit are in another one; undefined for those that changed or cannot be compared. */
export type FollowIn = (
  directory: string,
  place: { readonly from: string; readonly to: string; readonly path: string },
  lines: readonly number[],
) => Promise<readonly (number | undefined)[]>;

export function createFollowIn(git: Git): FollowIn {
  return async (directory, { from, to, path }, lines) => {
    if (from === to) return lines;
    const args = ["diff-tree", "-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv"];
    try {
      const diff = await git.run([...args, from, to, "--", path], {
        directory,
        env: { GIT_LITERAL_PATHSPECS: "1" },
        outputBytesMax: DIFF_BYTES_MAX,
      });
      const text = diff.toString("latin1");
      return lines.map((line) => followLine(text, line));
    } catch (error) {
      // `failed`: rewritten history is gone from the repository.
      if (error instanceof GitError && (error.code === "too_long" || error.code === "failed"))
        return lines.map(() => undefined);
      throw error;
    }
  };
}

/** Moves the comments on lines of a pull request to where its head has them, and marks those as outdated whose line changed. */
export function createFollowLines({
  db,
  git,
  runInFolder,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
}) {
  const followIn = createFollowIn(git);

  return async (issueId: IssueId): Promise<void> => {
    const pull = await findPull(db, issueId);
    const base = pull && (await findRepositoryById(db, pull.repositoryId));
    if (pull === undefined || base === undefined) return;
    const ends = { head: pull.headCommit, base: pull.mergeBase };
    const lines = await listUnfollowedLines(db, issueId, { ...ends, limit: LINES_MAX });
    if (lines.length === 0) return;
    const moved = await runInFolder(base, (directory) => followAll(directory, pull, lines));
    await db.transaction(async (tx) => {
      if ((await findPull(tx, issueId))?.headCommit !== pull.headCommit) return;
      for (const [line, currentLine] of moved)
        await moveReviewLine(tx, line.commentId, {
          currentLine,
          isOutdated: currentLine === undefined,
          followedTo: line.side === "new" ? ends.head : ends.base,
        });
    });
  };

  async function followAll(
    directory: string,
    pull: ForgePull,
    lines: readonly ReviewLine[],
  ): Promise<ReadonlyMap<ReviewLine, number | undefined>> {
    const moved = new Map<ReviewLine, number | undefined>();
    const files = Map.groupBy(lines, ({ side, commitId, path }) => `${side} ${commitId} ${path}`);
    for (const ofFile of [...files.values()].slice(0, FILES_MAX)) {
      const [first] = ofFile;
      if (first === undefined) continue;
      const place = { ...(await findCommits(directory, pull, first)), path: first.path };
      const numbers = ofFile.map(({ line }) => line);
      for (const [at, current] of (await followIn(directory, place, numbers)).entries()) {
        const line = ofFile[at];
        if (line !== undefined) moved.set(line, current);
      }
    }
    return moved;
  }

  /** Returns the commits between which a line moved: of the head, or of the base for a line of the old file. */
  async function findCommits(directory: string, pull: ForgePull, { side, commitId }: ReviewLine) {
    if (side === "new") return { from: commitId, to: pull.headCommit };
    return { from: await findBase(directory, pull, commitId), to: pull.mergeBase };
  }

  /** Returns the commit that a diff to `after` begins with; `after` itself when it is gone, which no base equals. */
  async function findBase(
    directory: string,
    { baseCommit: before }: ForgePull,
    after: string,
  ): Promise<string> {
    try {
      return (await findMergeBase(git, { before, after }, { directory })) ?? before;
    } catch (error) {
      if (error instanceof GitError && error.code === "failed") return after;
      throw error;
    }
  }
}
