import type { BodyOf } from "../../contract/endpoint.ts";
import type { DiffFile } from "../../../storage/git/diff-files.ts";
import type { WireChangedFile } from "../../contract/forge/pulls/pull-changes.ts";
import { toCodeAddresses, toSegments } from "../code/code-addresses.ts";
import type { OwnedRepository } from "../events.ts";
import type { pullEndpoints, WirePull } from "../../contract/forge/pulls/pulls.ts";
import { toLabelId } from "../../../storage/tables/forge/ids.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { isDraft, toIssueView } from "../issues/issue.view.ts";
import { toEndOfDay } from "../issues/planning.view.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import type { PullDetails } from "./pull-details.ts";
import type { UpdateStyle } from "./pull-update.service.ts";
import type { NewPullRequest, PullEdit } from "./pull-requests.ts";

/** Converts a pull request as it is alone: with the counts of its diff. */
export function toPullView(details: PullDetails, urls: ForgeUrls): WirePull {
  const { additions, deletions, changedFiles } = details.pull;
  const view = toListedPullView(details, urls);
  return {
    ...view,
    assignees: view.assignees ?? [],
    requested_reviewers: view.requested_reviewers ?? [],
    requested_reviewers_teams: view.requested_reviewers_teams ?? [],
    additions,
    deletions,
    changed_files: changedFiles,
  };
}

/** Converts a pull request of a list. */
export function toListedPullView(details: PullDetails, urls: ForgeUrls): WirePull {
  const { pull, base, head, reviews } = details;
  const issue = toIssueView(details, urls);
  const { html_url: url } = issue;
  const draft = isDraft(details.issue.title);
  const isMerged = pull.mergedAt !== undefined;
  const showUser = (user: PullDetails["reviews"]["requestedUsers"][number]) =>
    toEmbeddedUserView(user, false, urls);
  return {
    id: issue.id,
    url,
    number: issue.number,
    user: issue.user,
    title: issue.title,
    body: issue.body,
    labels: issue.labels,
    milestone: issue.milestone,
    assignee: issue.assignee,
    assignees: issue.assignees,
    requested_reviewers: orNull(reviews.requestedUsers.map(showUser)),
    requested_reviewers_teams: orNull(
      reviews.requestedTeams.map((team) => toTeamView(team, base.owner, urls)),
    ),
    state: issue.state,
    draft,
    is_locked: issue.is_locked,
    comments: issue.comments,
    review_comments: reviews.count,
    html_url: url,
    diff_url: `${url}.diff`,
    patch_url: `${url}.patch`,
    // One whose fork was deleted is closed for good; an imported one is open without its fork.
    mergeable:
      pull.state === "mergeable" &&
      !draft &&
      (pull.headRepositoryId !== undefined || issue.state === "open"),
    merged: isMerged,
    merged_at: isMerged ? toWireTime(pull.mergedAt) : null,
    merge_commit_sha: pull.mergeCommit ?? null,
    merged_by: details.mergedBy === undefined ? null : showUser(details.mergedBy),
    allow_maintainer_edit: pull.allowsMaintainerEdit,
    base: toEnd({ branch: pull.baseBranch, sha: pull.baseCommit }, base, urls),
    head: {
      ...toEnd({ branch: pull.headBranch, sha: pull.headCommit }, head, urls),
      ...(pull.isHeadGone || pull.headBranch === "" || pull.headRepositoryId === undefined
        ? { ref: `refs/pull/${issue.number}/head` }
        : {}),
    },
    merge_base: pull.mergeBase,
    due_date: issue.due_date,
    created_at: issue.created_at,
    updated_at: issue.updated_at,
    closed_at: issue.closed_at,
    content_version: issue.content_version,
    pin_order: issue.pin_order,
  };
}

function toEnd(
  { branch, sha }: { readonly branch: string; readonly sha: string },
  repository: RepositoryDetails | undefined,
  urls: ForgeUrls,
): WirePull["base"] {
  return {
    label: branch,
    ref: branch,
    sha,
    repo_id: repository?.repository.id ?? -1,
    repo: repository === undefined ? null : toRepositoryView(repository, urls),
  };
}

const orNull = <T>(list: readonly T[]): T[] | null => (list.length === 0 ? null : [...list]);

export function toNewPull(body: BodyOf<typeof pullEndpoints.createPull>): NewPullRequest {
  return {
    head: body.head,
    base: body.base,
    title: body.title,
    body: body.body ?? "",
    dueAt: toEndOfDay(body.due_date) ?? undefined,
    milestoneId: body.milestone || undefined,
    assignees: toAssignees(body) ?? [],
    labelIds: (body.labels ?? []).map(toLabelId),
    reviewers: { people: body.reviewers ?? [], teams: body.team_reviewers ?? [] },
    allowsMaintainerEdit: body.allow_maintainer_edit ?? undefined,
  };
}

/** Converts the body of an edit. An empty title and the milestone 0 change nothing, as in the reference. */
export function toPullEdit(body: BodyOf<typeof pullEndpoints.editPull>): PullEdit {
  return {
    title: body.title || undefined,
    body: body.body ?? undefined,
    state: body.state || undefined,
    dueAt: body.unset_due_date === true ? null : toEndOfDay(body.due_date),
    milestoneId: body.milestone || undefined,
    assignees: toAssignees(body),
    labelIds: body.labels?.map(toLabelId),
    baseBranch: body.base || undefined,
    allowsMaintainerEdit: body.allow_maintainer_edit ?? undefined,
    ifVersion: body.content_version ?? undefined,
  };
}

/** Combines `assignees` with `assignee`, the deprecated member for one user. */
function toAssignees(body: {
  readonly assignee?: string | null | undefined;
  readonly assignees?: readonly string[] | null | undefined;
}): readonly string[] | undefined {
  if (body.assignees == null && body.assignee == null) return undefined;
  const one = body.assignee == null || body.assignee === "" ? [] : [body.assignee];
  return [...one, ...(body.assignees ?? [])];
}

/** Converts a changed file. Its addresses name the head. */
export function toChangedFileView(
  { path, formerPath, status, isBinary, additions, deletions }: DiffFile,
  { owned, headCommit }: { readonly owned: OwnedRepository; readonly headCommit: string },
  urls: ForgeUrls,
): WireChangedFile {
  const { api, html } = toCodeAddresses(owned, urls);
  const place = toSegments(path);
  const changes = additions + deletions;
  const hasNoLines = status === "changed" && changes === 0 && !isBinary;
  return {
    filename: path,
    ...(formerPath === undefined ? {} : { previous_filename: formerPath }),
    status: hasNoLines ? "unchanged" : status,
    additions,
    deletions,
    changes,
    html_url: `${html}/src/commit/${headCommit}/${place}`,
    contents_url: `${api}/contents/${place}?ref=${headCommit}`,
    raw_url: `${html}/raw/commit/${headCommit}/${place}`,
  };
}

/** Returns the style that a request names; undefined for any other word. */
export function toUpdateStyle(word: string): UpdateStyle | undefined {
  return word === "merge" || word === "rebase" ? word : undefined;
}
