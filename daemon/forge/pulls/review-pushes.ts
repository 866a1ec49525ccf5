import type { Database } from "../../../storage/engine/database.ts";
import { readCommitObjects } from "../../../storage/git/commit-objects.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import { findIssueById, updateIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  findOpenPullOfTopic,
  findPull,
  type ForgePull,
  updatePull,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import { AppError } from "../../errors.ts";
import type { Emit } from "../events.ts";
import type { ReviewedRef, ReviewPush, ReviewPushes } from "../git/review-ref.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { grantRepository, reopenRepository } from "../repositories/open-repository.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { type PullRefs, toPullRef } from "./pull-refs.ts";
import type { PullState } from "./pull-state.ts";
import type { Pulls } from "./pulls.service.ts";

/** Parts of a name between slashes that are tried as a branch. */
const SEGMENTS_MAX = 12;
const TITLE_LENGTH_MAX = 255;
const TOPIC_LENGTH_MAX = 255;
/** Commits that the timeline names. */
const COMMITS_MAX = 250;

export interface ReviewPushesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly urls: ForgeUrls;
  readonly emit: Emit;
  readonly pulls: Pick<Pulls, "openPushed">;
  readonly refs: PullRefs;
  readonly state: Pick<PullState, "computeSoon">;
}

/** Where a push for review goes. */
interface Target {
  readonly opened: GrantedRepository;
  readonly commit: string;
  readonly baseBranch: string;
  readonly baseCommit: string;
  readonly agitTopic: string;
  /** The open pull request of this person and topic. */
  readonly former: ForgePull | undefined;
}

/**
 * AGit: `git push origin HEAD:refs/for/main -o topic=x` opens a pull request without a branch, and pushed again it moves
 * that of the same person and topic.
 */
export function createReviewPushes({
  db,
  git,
  runInFolder,
  urls,
  emit,
  pulls,
  refs,
  state,
}: ReviewPushesDeps): ReviewPushes {
  return {
    async findRefusal(push, quarantine) {
      try {
        const target = await findTarget(push);
        await assertCommit(target, quarantine);
        await assertForward(target, push, quarantine);
        return undefined;
      } catch (error) {
        if (error instanceof AppError && REFUSALS.has(error.code)) return error.message;
        throw error;
      }
    },

    async receive(push) {
      const target = await findTarget(push);
      return target.former === undefined
        ? open(target, push)
        : move(target, target.former, await assertForward(target, push, undefined), push);
    },
  };

  async function findTarget({
    caller,
    target,
    commit,
    options,
    ...owned
  }: ReviewPush): Promise<Target> {
    if (commit === undefined) throw refuse("a pull request is closed, not deleted");
    const { task } = caller.user;
    if (task !== undefined && task.permissions["pull-requests"] !== "write")
      throw refuse("the token of this job needs the permission pull-requests: write");
    const permission = { kind: "repository", part: "pulls", level: "read" } as const;
    const opened = await grantRepository(db, owned, { caller, permission, isChange: true });
    const base = await findBase(opened, target);
    const agitTopic = readOption(options, "topic") ?? base.rest;
    if (agitTopic === "")
      throw refuse("name the topic: git push -o topic=NAME, or refs/for/BRANCH/TOPIC");
    if (agitTopic.length > TOPIC_LENGTH_MAX) throw refuse("the topic is too long");
    const { branch: baseBranch, commitId: baseCommit } = base;
    const former = await findOpenPullOfTopic(db, {
      repositoryId: opened.repository.id,
      baseBranch,
      agitTopic,
      authorId: caller.user.id,
    });
    return { opened, commit, baseBranch, baseCommit, agitTopic, former };
  }

  /** Finds the branch at the beginning of a target; the rest is the topic. */
  async function findBase({ repository }: GrantedRepository, target: string) {
    const segments = target.split("/");
    for (let length = Math.min(segments.length, SEGMENTS_MAX); length > 0; length--) {
      const branch = segments.slice(0, length).join("/");
      const found = await refs.findBranch(repository, branch);
      if (found.kind === "branch")
        return { branch, commitId: found.commitId, rest: segments.slice(length).join("/") };
    }
    throw refuse(`there is no branch to merge into: ${target}`);
  }

  async function assertCommit(
    { opened, commit }: Target,
    quarantine: string | undefined,
  ): Promise<void> {
    const env = quarantine === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: quarantine };
    const type = await runInFolder(opened.repository, (directory) =>
      git.run(["cat-file", "-t", commit], { directory, env }),
    );
    if (type.toString("latin1").trim() !== "commit") throw refuse("only commits can be reviewed");
  }

  /** Returns whether a push rewrites the history of the pull request; refuses that without the option. */
  async function assertForward(
    { opened, former, commit }: Target,
    { options }: ReviewPush,
    quarantine: string | undefined,
  ): Promise<boolean> {
    if (former === undefined) return false;
    const isForward = await runInFolder(opened.repository, (directory) =>
      isAncestor(git, directory, former.headCommit, commit, quarantine),
    );
    if (!isForward && readOption(options, "force-push") !== "true")
      throw refuse("the push rewrites history: git push -o force-push=true");
    return !isForward;
  }

  async function open(
    { opened, commit: headCommit, former: _former, ...base }: Target,
    { caller, options }: ReviewPush,
  ): Promise<ReviewedRef> {
    const [commit] = await runInFolder(opened.repository, (directory) =>
      readCommitObjects(git, [headCommit], { directory }),
    );
    const [subject = "", ...rest] = (commit?.message ?? "").split("\n");
    const title = (readOption(options, "title") ?? subject).trim() || base.agitTopic;
    const body = readOption(options, "description") ?? rest.join("\n").trim();
    const text = { title: title.slice(0, TITLE_LENGTH_MAX), body };
    const { issue } = await pulls.openPushed(opened, caller, text, { ...base, headCommit });
    return toReviewed(opened, issue.number, {
      before: undefined,
      after: headCommit,
      isForced: false,
    });
  }

  async function move(
    { opened, commit: headCommit }: Target,
    former: ForgePull,
    isForced: boolean,
    { caller }: ReviewPush,
  ): Promise<ReviewedRef> {
    const { headCommit: before, issueId } = former;
    const commitIds = await runInFolder(opened.repository, (directory) =>
      listCommits(directory, `${before}..${headCommit}`),
    );
    const number = await db.transaction(async (tx) => {
      const owned = await reopenRepository(tx, opened);
      const current = await findPull(tx, issueId);
      const found = await findIssueById(tx, issueId);
      if (current === undefined || found === undefined) throw notFound();
      if (current.headCommit !== before || found.isClosed)
        throw new AppError("conflict", "the pull request was changed in the meantime, try again");
      if (before === headCommit) return found.number;
      const pull = (await updatePull(tx, issueId, { headCommit, state: "checking" })) ?? current;
      const details = { oldRef: before, newRef: headCommit, commitIds, isForcePush: isForced };
      await insertEvents(tx, issueId, caller.user.id, [{ kind: "pull_push", details }]);
      const issue = (await updateIssue(tx, issueId, {})) ?? found;
      const change = { owned, issue, pull, actor: caller.user };
      await emit(tx, "pull", { ...change, action: "synchronized", before, after: headCommit });
      await state.computeSoon(tx, owned.repository);
      return issue.number;
    });
    await refs.writeHead(issueId);
    return toReviewed(opened, number, { before, after: headCommit, isForced });
  }

  async function listCommits(directory: string, range: string): Promise<string[]> {
    const args = ["rev-list", "--reverse", `--max-count=${COMMITS_MAX}`, range, "--"];
    const listed = await git.run(args, { directory });
    return listed.toString("latin1").split("\n").slice(0, -1);
  }

  function toReviewed(
    { repository, owner }: GrantedRepository,
    number: number,
    moved: Pick<ReviewedRef, "before" | "after" | "isForced">,
  ): ReviewedRef {
    const address = toUrl(urls, `/${owner.name}/${repository.name}/pulls/${number}`);
    const verb =
      moved.before === undefined ? "Visit the new pull request" : "Visit the existing pull request";
    return { ...moved, ref: toPullRef(number), notice: `${verb}:\n  ${address}` };
  }
}

const refuse = (message: string) => new AppError("unprocessable", message);

const REFUSALS: ReadonlySet<string> = new Set([
  "unprocessable",
  "not_found",
  "forbidden",
  "archived",
]);

function readOption(options: readonly string[], name: string): string | undefined {
  const option = options.findLast((each) => each === name || each.startsWith(`${name}=`));
  if (option === undefined) return undefined;
  // `-o force-push` alone means true.
  return option === name ? "true" : option.slice(name.length + 1);
}
