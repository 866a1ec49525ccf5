import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  type IssueId,
  type MilestoneId,
  toLabelId,
  toMilestoneId,
} from "../../../storage/tables/forge/ids.ts";
import {
  findIssueById,
  type ForgeIssue,
  insertIssue,
  insertMentions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { isIssueOrder, listIssues } from "../../../storage/tables/forge/issues/lists.ts";
import { listPinnedIssues } from "../../../storage/tables/forge/issues/pins.ts";
import {
  findPull,
  findPullBetween,
  findOpenPullOfTopic,
  findPullOfCommit,
  type ForgePull,
  insertPull,
  listPullsOf,
  type PullEnds,
} from "../../../storage/tables/forge/pulls/pulls.ts";
import { listUsableLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isKnownTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import { findAssignees } from "../issues/assignable-users.ts";
import { canWrite } from "../issues/issue-access.ts";
import type { IssueChanges } from "../issues/issue-changes.ts";
import { assertMilestone, assertNoOpenPull, findMentionedIds } from "../issues/issue-edits.ts";
import type { GrantedRepository } from "../opened.ts";
import { toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";
import { type OpenedPull, openPull } from "./open-pull.ts";
import { loadAllPullDetails, loadPullDetails, type PullDetails } from "./pull-details.ts";
import { assertMayOpen, findHead, type PullHead } from "./pull-ends.ts";
import { type NewPullRequest, noDetails, type PullListOptions } from "./pull-requests.ts";
import type { PullRefs } from "./pull-refs.ts";

/** Pull requests of a repository. */
export type Pulls = ReturnType<typeof createPulls>;

/** Asks for reviews of a new pull request; refuses as the operation that asks. */
export type RequestReviews = (
  tx: Transaction,
  owned: OwnedRepository,
  caller: ForgeCaller,
  opened: OpenedPull,
  reviewers: NewPullRequest["reviewers"],
) => Promise<unknown>;

export function createPulls({
  db,
  emit,
  changes,
  refs,
  requestReviews,
}: {
  readonly db: Database;
  readonly emit: Emit;
  readonly changes: IssueChanges;
  readonly refs: PullRefs;
  readonly requestReviews: RequestReviews;
}) {
  return {
    /** Lists pull requests with the filters of the reference. Refuses an unknown author with `invalid_argument`. */
    async list(
      opened: GrantedRepository,
      query: PullListOptions,
    ): Promise<{ readonly pulls: readonly PullDetails[]; readonly total: number }> {
      assertHasCommits(opened);
      const { caller } = opened.grant;
      const { id: repositoryId } = opened.repository;
      const state = query.state.toLowerCase();
      const filter = {
        within: { repositoryId },
        isPull: true,
        state: state === "" ? "open" : isState(state) ? state : "all",
        term: "",
        authorId: await findPoster(query.poster, caller),
        labelIds: query.labels.length === 0 ? [] : [query.labels.map(toLabelId)],
        milestoneIds: query.milestone > 0 ? [toMilestoneId(query.milestone)] : [],
        ...(query.base_branch === "" ? {} : { baseBranch: query.base_branch }),
      } as const;
      const order = isIssueOrder(query.sort) ? query.sort : "newest";
      const { issues, total } = await listIssues(db, filter, { ...toRows(query), order });
      return { pulls: await loadAll(opened, issues), total };
    },

    async listPinned(opened: GrantedRepository): Promise<readonly PullDetails[]> {
      return loadAll(opened, await listPinnedIssues(db, opened.repository.id, true));
    },

    async get(opened: GrantedRepository, number: number): Promise<PullDetails> {
      const pull = await openPull(db, opened, number);
      return loadPullDetails(db, opened.grant.caller, opened, pull);
    },

    /** Returns the newest pull request between two branches, also a closed one. */
    async getOfBranches(
      opened: GrantedRepository,
      baseBranch: string,
      headText: string,
    ): Promise<PullDetails> {
      const head = await findHead(db, opened, opened.grant.caller, headText);
      const found = await findPullBetween(db, toEnds(opened, baseBranch, head), { isOpen: false });
      return loadFound(opened, found);
    },

    /** Returns the pull request that a commit merged. */
    async getOfCommit(opened: GrantedRepository, sha: string): Promise<PullDetails> {
      return loadFound(opened, await findPullOfCommit(db, opened.repository.id, sha));
    },

    /**
     * Opens a pull request. Ignores assignees, labels, milestone and due date of a caller without write access, as for an
     * issue. Refuses in the order of the reference; see `findHead`, `assertMayOpen`.
     */
    async create(
      opened: GrantedRepository,
      caller: ForgeCaller,
      input: NewPullRequest,
    ): Promise<PullDetails> {
      assertHasCommits(opened);
      const head = await findHead(db, opened, caller, input.head);
      const ends = toEnds(opened, input.base, head);
      if (ends.headRepositoryId === ends.repositoryId && ends.headBranch === ends.baseBranch)
        throw noChanges();
      await assertMayOpen(db, opened, head.owned, caller);
      const baseCommit = await getBranch(opened, input.base);
      const headCommit = await getBranch(head.owned, head.branch);
      const id = await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        await assertMayOpen(tx, place, await reopenHead(tx, place, head, caller), caller);
        await assertNoOpenPull(tx, ends);
        return insert(tx, place, caller, input, { ...ends, baseCommit, headCommit });
      });
      return loadNew(opened, caller, id);
    },

    /**
     * Opens a pull request of commits that were pushed to the base without a branch. Refuses with `conflict` when the
     * author has an open one of this topic.
     */
    async openPushed(
      opened: GrantedRepository,
      caller: ForgeCaller,
      text: Pick<NewPullRequest, "title" | "body">,
      head: PushedHead,
    ): Promise<PullDetails> {
      const id = await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const { id: repositoryId } = place.repository;
        const { user } = caller;
        if (
          (await findOpenPullOfTopic(tx, { ...head, repositoryId, authorId: user.id })) !==
          undefined
        )
          throw new AppError("conflict", "the topic was pushed in the meantime, try again");
        const ends = { repositoryId, headRepositoryId: repositoryId, headBranch: "" };
        return insert(tx, place, caller, { ...noDetails, ...text }, { ...ends, ...head });
      });
      return loadNew(opened, caller, id);
    },
  };

  async function loadNew(
    opened: GrantedRepository,
    caller: ForgeCaller,
    id: IssueId,
  ): Promise<PullDetails> {
    await refs.writeHead(id);
    const issue = await findIssueById(db, id);
    const pull = issue && (await findPull(db, id));
    if (issue === undefined || pull === undefined) throw notFound();
    return loadPullDetails(db, caller, opened, { issue, pull });
  }

  async function insert(
    tx: Transaction,
    place: GrantedRepository,
    caller: ForgeCaller,
    input: NewPullRequest,
    ends: PullEnds & Pick<ForgePull, "baseCommit" | "headCommit"> & Partial<PushedHead>,
  ): Promise<IssueId> {
    const { user } = caller;
    const { repository } = place;
    const text = `${input.title}\n\n${input.body}`;
    const mayWrite = canWrite(place);
    const milestoneId: MilestoneId | undefined = mayWrite ? input.milestoneId : undefined;
    await assertMilestone(tx, repository.id, milestoneId);
    const assignees = mayWrite ? await findAssignees(tx, place, input.assignees) : [];
    const mentioned = await findMentionedIds(tx, text);
    const issue = await insertIssue(tx, {
      isPull: true,
      repositoryId: repository.id,
      authorId: user.id,
      title: input.title,
      body: input.body,
      ref: "",
      isClosed: false,
      dueAt: mayWrite ? input.dueAt : undefined,
    });
    const { default_allow_maintainer_edit: isEditable } = toSettings(repository.settings);
    const pull = await insertPull(tx, {
      issueId: issue.id,
      ...ends,
      allowsMaintainerEdit: input.allowsMaintainerEdit ?? isEditable ?? true,
    });
    await insertMentions(tx, issue.id, mentioned);
    const change = { owned: place, issue, actor: user };
    await emit(tx, "issue", { ...change, action: "opened", text });
    await requestReviews(tx, place, caller, { issue, pull }, input.reviewers);
    if (!mayWrite) return issue.id;
    const labels = await listUsableLabels(tx, repository, { ids: input.labelIds, names: [] });
    await changes.changeLabels(tx, change, labels);
    const current = await changes.changeMilestone(tx, change, milestoneId);
    await changes.assign(tx, { ...change, issue: current }, assignees);
    return issue.id;
  }

  /** Returns the commit of a branch. Refuses with `not_found` an unknown name, with `unprocessable` a tag or a commit. */
  async function getBranch({ repository }: OwnedRepository, name: string): Promise<string> {
    const found = await refs.findBranch(repository, name);
    if (found.kind === "branch") return found.commitId;
    if (found.kind === "missing") throw new AppError("not_found", `ref "${name}" does not exist`);
    throw new AppError("unprocessable", "Invalid PullRequest: base and head must be branches");
  }

  async function findPoster(name: string, caller: ForgeCaller | undefined) {
    if (name === "") return undefined;
    const user = await findUserByName(db, name);
    if (user === undefined || !(await isKnownTo(db, user, caller?.user)))
      throw new AppError("invalid_argument", `user does not exist [name: ${name}]`);
    return user.id;
  }

  async function loadAll(
    opened: GrantedRepository,
    issues: readonly ForgeIssue[],
  ): Promise<PullDetails[]> {
    const pulls = await listPullsOf(
      db,
      issues.map(({ id }) => id),
    );
    const all = issues.flatMap((issue) => {
      const pull = pulls.get(issue.id);
      return pull === undefined ? [] : [{ issue, pull }];
    });
    return loadAllPullDetails(db, opened.grant.caller, opened, all);
  }

  async function loadFound(
    opened: GrantedRepository,
    pull: ForgePull | undefined,
  ): Promise<PullDetails> {
    const issue = pull && (await findIssueById(db, pull.issueId));
    if (pull === undefined || issue === undefined) throw notFound();
    return loadPullDetails(db, opened.grant.caller, opened, { issue, pull });
  }
}

/** The commits of a pull request without a branch. */
export interface PushedHead extends Pick<ForgePull, "baseBranch" | "baseCommit" | "headCommit"> {
  readonly agitTopic: string;
}

const isState = (word: string): word is "open" | "closed" => word === "open" || word === "closed";

/** A repository without commits has no pull requests. */
function assertHasCommits({ repository }: OwnedRepository): void {
  if (repository.isEmpty) throw notFound();
}

const toEnds = (base: OwnedRepository, baseBranch: string, head: PullHead): PullEnds => ({
  repositoryId: base.repository.id,
  baseBranch,
  headRepositoryId: head.owned.repository.id,
  headBranch: head.branch,
});

/** Finds the repository of the head again in the transaction, if the caller may still read it. */
async function reopenHead(
  tx: Queries,
  base: OwnedRepository,
  head: PullHead,
  caller: ForgeCaller,
): Promise<OwnedRepository> {
  const { repository, owner } = head.owned;
  if (repository.id === base.repository.id) return base;
  const text = `${owner.name}/${repository.name}:${head.branch}`;
  return (await findHead(tx, base, caller, text)).owned;
}

const noChanges = () =>
  new AppError(
    "unprocessable",
    "Invalid PullRequest: There are no changes between the head and the base",
  );
