import type { Database } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { applyChange, commitTree } from "../../../storage/git/merge.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { GrantedRepository } from "../opened.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { createChangeLimiter } from "../repositories/transfer-limiter.ts";
import { type OpenedPull, openPull } from "./open-pull.ts";
import type { PullDetails } from "./pull-details.ts";
import { noDetails } from "./pull-requests.ts";
import type { Pulls } from "./pulls.service.ts";

export interface RevertRequest {
  readonly number: number;
  /** The new branch, the title and the text; each empty for the default. */
  readonly branch: string;
  readonly title: string;
  readonly text: string;
  readonly signal: AbortSignal;
}

export interface PullRevertDeps {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A name that no other running call uses. */
  readonly newUuid: () => string;
  readonly runInFolder: RunInFolder;
  readonly writeRefs: WriteRefs;
  readonly toCommitPerson: (user: ForgeUser) => CommitPerson;
  readonly pulls: Pick<Pulls, "create">;
}

/**
 * Opens a pull request with one commit that takes back what a merged one brought into its base, on a new branch of the
 * repository. Refuses with `unprocessable` a pull request that is not merged and one whose changes the base does not have any
 * more, with `forbidden` a caller who may not push to the repository, and with `conflict` later changes of the same lines and a
 * branch that exists.
 */
export type RevertPull = (
  opened: GrantedRepository,
  caller: ForgeCaller,
  request: RevertRequest,
) => Promise<PullDetails>;

const HEADS = "refs/heads/";
/** Names that are tried for the new branch. */
const NAMES_MAX = 50;
/** Characters of the title that the new title quotes. */
const QUOTE_MAX = 240;
/** Paths that a refusal names. */
const PATHS_SHOWN = 10;

export function createPullRevert(deps: PullRevertDeps): RevertPull {
  const { db, git, clock, newUuid, runInFolder, writeRefs, toCommitPerson, pulls } = deps;
  const limiter = createChangeLimiter();

  return async (opened, caller, request) => {
    const found = await openPull(db, opened, request.number);
    if (found.pull.mergedAt === undefined)
      throw new AppError("unprocessable", "the pull request is not merged");
    if (!reaches(await findAccess(db, opened, caller.user), "write"))
      throw new AppError("forbidden", "user should be able to push to the repository");
    const release = await limiter.acquire({ caller, address: "" }, request.signal);
    try {
      return await revert(opened, caller, found, request);
    } finally {
      release();
    }
  };

  async function revert(
    opened: GrantedRepository,
    caller: ForgeCaller,
    found: OpenedPull,
    request: RevertRequest,
  ): Promise<PullDetails> {
    const quoted = found.issue.title.slice(0, QUOTE_MAX).trim();
    const title = request.title.trim() || `Revert "${quoted}"`;
    const { branch, commit } = await writeBranch(opened, caller.user, found, { ...request, title });
    const body = request.text.trim() || `Reverts #${found.issue.number}.`;
    const base = found.pull.baseBranch;
    try {
      return await pulls.create(opened, caller, { ...noDetails, head: branch, base, title, body });
    } catch (error) {
      const change = { ref: HEADS + branch, before: commit, after: undefined };
      await writeRefs(opened, caller.user, [change]);
      throw error;
    }
  }

  /** Writes the commit of the revert and a branch that names it. */
  function writeBranch(
    opened: GrantedRepository,
    user: ForgeUser,
    found: OpenedPull,
    { branch, title, signal }: RevertRequest,
  ): Promise<{ readonly branch: string; readonly commit: string }> {
    const { pull, issue } = found;
    return runInFolder(opened.repository, async (directory) => {
      const tip = await findCommitId(git, directory, HEADS + pull.baseBranch);
      if (tip === undefined)
        throw new AppError(
          "unprocessable",
          `the branch ${pull.baseBranch} does not exist any more`,
        );
      const change = await findChange(directory, pull, tip);
      await using quarantine = await openQuarantine(directory, newUuid());
      const options = { directory, signal, env: quarantine.env };
      const seconds = Math.floor(clock() / 1000);
      const person = { ...toCommitPerson(user), seconds, zone: "+0000" };
      const applied = await applyChange(git, { ...change, onto: tip }, person, options);
      if (applied.kind === "unchanged") throw gone(pull);
      if (applied.kind === "conflict") throw toConflict(applied.paths, change);
      const message = `${title}\n\nThis reverts ${change.name}, which pull request #${issue.number} merged.\n`;
      const people = { author: person, committer: person };
      const written = { tree: applied.tree, parents: [tip], ...people, message };
      const commit = await commitTree(git, written, options);
      const names = branch === "" ? toNames(issue.number) : [branch];
      for (const name of names) {
        const ref = HEADS + name;
        if ((await findCommitId(git, directory, ref)) !== undefined) continue;
        const created = { ref, before: undefined, after: commit };
        const outcome = await writeRefs(opened, user, [created], { quarantine });
        if (outcome === "written") return { branch: name, commit };
        if (outcome === "bad_name")
          throw new AppError("unprocessable", `git does not accept the branch name ${name}`);
      }
      throw new AppError(
        "conflict",
        `the branch ${names[0] ?? ""} exists already, name another one`,
      );
    });
  }

  /** Finds the change that takes a merge back. Refuses with `unprocessable` when git does not have its commits any more. */
  async function findChange(
    directory: string,
    { mergeCommit, mergedOnto, headCommit, mergeBase, ...pull }: ForgePull,
    tip: string,
  ): Promise<{
    readonly from: string;
    readonly to: string;
    readonly name: string;
    readonly words: string;
  }> {
    if (mergeCommit === undefined) throw gone(pull);
    const [merged, first, second, head, start] = (
      await findObjects(
        git,
        [
          `${mergeCommit}^{commit}`,
          `${mergedOnto ?? `${mergeCommit}^1`}^{commit}`,
          `${mergeCommit}^2^{commit}`,
          `${headCommit}^{commit}`,
          `${mergeBase || mergeCommit}^{commit}`,
        ],
        { directory },
      )
    ).map((object) => object?.id);
    if (merged === undefined || !(await isAncestor(git, directory, merged, tip))) throw gone(pull);
    if (first !== undefined && (second !== undefined || mergedOnto !== undefined))
      return { from: merged, to: first, ...(await nameCommits(directory, first, merged, second)) };
    // A merge by hand that made no merge commit: the head and where it began say what it brought.
    if (head === undefined || start === undefined || start === head) throw gone(pull);
    return { from: head, to: start, ...toRange(start, head) };
  }

  /** Says for a person which commits are reverted. */
  async function nameCommits(
    directory: string,
    before: string,
    merged: string,
    second: string | undefined,
  ) {
    if (second !== undefined) return { name: `commit ${merged}`, words: `-m 1 ${merged}` };
    const [parent] = await findObjects(git, [`${merged}^1`], { directory });
    return parent?.id === before
      ? { name: `commit ${merged}`, words: merged }
      : toRange(before, merged);
  }
}

const toRange = (from: string, to: string) => ({
  name: `the commits ${from}..${to}`,
  words: `${from}..${to}`,
});

const toNames = (number: number): readonly string[] =>
  Array.from({ length: NAMES_MAX }, (_, at) => `revert-${number}${at === 0 ? "" : `-${at + 1}`}`);

const gone = ({ baseBranch }: Pick<ForgePull, "baseBranch">) =>
  new AppError(
    "unprocessable",
    `there is nothing to revert: ${baseBranch} does not have the changes of this pull request any more`,
  );

function toConflict(paths: readonly string[], { words }: { readonly words: string }): AppError {
  const more = paths.length - PATHS_SHOWN;
  const named = [...paths.slice(0, PATHS_SHOWN), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return new AppError(
    "conflict",
    `cannot revert because later commits changed the same lines of ${named}; revert it in a clone: git revert ${words}`,
  );
}
