import type { WireUser } from "../../contract/forge/accounts/users.ts";
import { issueDependencyEndpoints } from "../../contract/forge/issues/dependencies.ts";
import { issueEndpoints, type WireIssue } from "../../contract/forge/issues/issues.ts";
import type { WireLabel } from "../../contract/forge/issues/labels.ts";
import type { WireMilestone } from "../../contract/forge/issues/milestones.ts";
import { trackedTimeEndpoints } from "../../contract/forge/issues/tracked-times.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { toPageNumber, toPath } from "../../pages/page.ts";
import { findRefusal, type ForgePageContext, type RepositoryParams } from "./forge-page.ts";
import { loadLabels, loadMilestones, loadWriters, mayWriteIssues } from "./planning.ts";
import type { ShownForm } from "./texts.tsx";

export type IssueParams = RepositoryParams & { readonly index: string };

/** An issue or a pull request with what the person of the page may do with it. */
export interface IssueWork {
  readonly context: ForgePageContext;
  readonly issue: WireIssue;
  readonly repository: WireRepository;
  readonly writers: readonly WireUser[];
  /** The beginning of the addresses of its forms; `query` belongs at their end. */
  readonly actions: string;
  /** Keeps the page of the timeline. */
  readonly query: string;
  /** Undefined for anonymous callers. */
  readonly me: string | undefined;
  readonly token: string | undefined;
  /** Whether to label, assign and plan it, and to edit texts of other people. */
  readonly mayWrite: boolean;
  readonly mayAdminister: boolean;
  readonly mayComment: boolean;
  readonly shown: ShownForm | undefined;
}

/** Loads an issue or a pull request with the rights of the caller, who has opened the repository. */
export async function loadIssueWork(
  context: ForgePageContext,
  { owner, repo, index }: IssueParams,
  repository: WireRepository,
  shown?: ShownForm,
): Promise<IssueWork> {
  const { call, session, request } = context;
  const { body: issue } = await call(issueEndpoints.getIssue, { params: { owner, repo, index } });
  const writers = await loadWriters(context, { owner, repo });
  const mayWrite = mayWriteIssues(context, repository, writers);
  const page = toPageNumber(request);
  return {
    context,
    issue,
    repository,
    writers,
    actions: toPath(owner, repo, "issues", index),
    query: page === 1 ? "" : `?page=${page}`,
    me: session?.caller.user.name,
    token: session?.formToken,
    mayWrite,
    mayAdminister:
      session !== undefined && !repository.archived && repository.permissions?.admin === true,
    mayComment: session !== undefined && !repository.archived && (!issue.is_locked || mayWrite),
    shown,
  };
}

/** Returns whether the person may change a text: their own, or any with write access. */
export function mayEditText(
  { me, mayWrite, repository }: IssueWork,
  author: Pick<WireUser, "login"> | null,
): boolean {
  if (me === undefined || repository.archived) return false;
  return mayWrite || author?.login === me;
}

/** What the boxes beside an issue show. */
export interface IssueBoxes {
  /** Everything that can be chosen; empty for a person who may not choose. */
  readonly labels: readonly WireLabel[];
  readonly milestones: readonly WireMilestone[];
  /** Undefined for anonymous callers. */
  readonly isSubscribed: boolean | undefined;
  /** Undefined where the repository has them off. */
  readonly dependencies:
    | { readonly blockers: readonly WireIssue[]; readonly blocked: readonly WireIssue[] }
    | undefined;
  /** Undefined for anonymous callers, and where the repository has the tracking of time off. */
  readonly time: { readonly seconds: number; readonly isRunning: boolean } | undefined;
}

/** Loads what the boxes beside an issue show. */
export async function loadIssueBoxes(
  { context, issue, repository, me, mayWrite }: IssueWork,
  params: IssueParams,
): Promise<IssueBoxes> {
  const { call } = context;
  const path = { owner: params.owner, repo: params.repo, index: String(issue.number) };
  const isSubscribed =
    me === undefined
      ? undefined
      : (await call(issueEndpoints.checkIssueSubscription, { params: path })).body.subscribed;
  return {
    labels: mayWrite
      ? (await loadLabels(context, repository)).filter(({ is_archived: isOld }) => !isOld)
      : [],
    milestones: mayWrite ? await loadMilestones(context, path, "open") : [],
    isSubscribed,
    dependencies: await loadDependencies(context, path),
    time: me === undefined ? undefined : await loadTime(context, path),
  };
}

/** Number of issues on one page of dependencies; an issue has few. */
const DEPENDENCIES_SHOWN = "50";

/** Loads the dependencies of an issue; undefined when the repository has them disabled. */
async function loadDependencies({ call }: ForgePageContext, params: IssueParams) {
  const input = { params, query: { limit: DEPENDENCIES_SHOWN } };
  let found: IssueBoxes["dependencies"];
  await findRefusal(["not_found"], async () => {
    const { body: blockers } = await call(issueDependencyEndpoints.listIssueDependencies, input);
    const { body: blocked } = await call(issueDependencyEndpoints.listBlockedIssues, input);
    found = { blockers, blocked };
  });
  return found;
}

/** Loads the tracked time: the first 50 entries, and whether the person's stopwatch runs on the issue. */
async function loadTime({ call }: ForgePageContext, params: IssueParams) {
  let found: IssueBoxes["time"];
  await findRefusal(["invalid_argument", "not_found"], async () => {
    const query = { limit: "50" };
    const { body: times } = await call(trackedTimeEndpoints.listIssueTimes, { params, query });
    const { body: running } = await call(trackedTimeEndpoints.listStopwatches, { query });
    found = {
      seconds: times.reduce((sum, { time }) => sum + time, 0),
      isRunning: running.some(
        (each) =>
          String(each.issue_index) === params.index &&
          each.repo_owner_name === params.owner &&
          each.repo_name === params.repo,
      ),
    };
  });
  return found;
}
