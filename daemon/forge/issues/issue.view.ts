import type { BodyOf } from "../../contract/endpoint.ts";
import type {
  issueEndpoints,
  WireComment,
  WireIssue,
  WireWatch,
} from "../../contract/forge/issues/issues.ts";
import { toAttachmentView } from "./attachment.view.ts";
import { toEmbeddedUserView, toGhostView, toUserView } from "../accounts/user.view.ts";
import type { OwnedRepository } from "../events.ts";
import { type ForgeUrls, toApiUrl, toUrl, toWireTime } from "../urls.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { IssueEdit, NewIssue } from "./issue-requests.ts";
import type { CommentDetails } from "../events.ts";
import type { IssueDetails } from "./issue-details.ts";
import { toEndOfDay, toLabelView, toMilestoneView } from "./planning.view.ts";
import type { Watch } from "./watching.service.ts";
import { toUserId, toLabelId } from "../../../storage/tables/forge/ids.ts";

/**
 * Converts an issue. The author has the members that the viewer may see, assignees those that anonymous callers see.
 * Members of unsupported features (projects, estimates) are empty.
 */
export function toIssueView(details: IssueDetails, urls: ForgeUrls): WireIssue {
  const { owned, issue, labels, viewer, pull } = details;
  const { api, fullName } = toHomes(owned, urls);
  const html = toIssueUrl(owned, issue, urls);
  const author = details.people.get(issue.authorId ?? toUserId(-1));
  const assignees = details.assigneeIds
    .map((id) => details.people.get(id))
    .filter((user) => user !== undefined)
    .map((user) => toEmbeddedUserView(user, false, urls));
  return {
    id: issue.id,
    url: `${api}/issues/${issue.number}`,
    html_url: html,
    number: issue.number,
    user: author === undefined ? toGhostView(urls) : toUserView(author, viewer, urls),
    original_author: issue.originalAuthor,
    original_author_id: 0,
    title: issue.title,
    body: issue.body,
    ref: issue.ref,
    assets: details.attachments.map((each) => toAttachmentView(each, urls)),
    labels: labels.map((label) => toLabelView({ label, place: owned }, urls)),
    milestone: details.milestone === undefined ? null : toMilestoneView(details.milestone),
    projects: [],
    assignee: assignees[0] ?? null,
    assignees: assignees.length === 0 ? null : assignees,
    state: issue.isClosed ? "closed" : "open",
    is_locked: issue.lockedAt !== undefined,
    comments: issue.commentCount,
    content_version: issue.contentVersion,
    created_at: toWireTime(issue.createdAt),
    updated_at: toWireTime(issue.updatedAt),
    closed_at: issue.closedAt === undefined ? null : toWireTime(issue.closedAt),
    due_date: issue.dueAt === undefined ? null : toWireTime(issue.dueAt),
    time_estimate: 0,
    pull_request:
      pull === undefined
        ? null
        : {
            merged: pull.mergedAt !== undefined,
            merged_at: pull.mergedAt === undefined ? null : toWireTime(pull.mergedAt),
            draft: isDraft(issue.title),
            html_url: html,
          },
    repository: {
      id: owned.repository.id,
      name: owned.repository.name,
      owner: owned.owner.name,
      full_name: fullName,
    },
    pin_order: issue.pinOrder,
  };
}

/** Returns 204 for another entry of a timeline than a comment, as the reference does. */
export function toCommentAnswer(found: CommentDetails | undefined, urls: ForgeUrls) {
  if (found === undefined) return { status: 204 } as const;
  return { status: 200, body: toCommentView(found, urls) } as const;
}

export function toCommentView(
  { owned, issue, comment, author, attachments }: CommentDetails,
  urls: ForgeUrls,
): WireComment {
  const issueUrl = toIssueUrl(owned, issue, urls);
  return {
    id: comment.id,
    html_url: `${issueUrl}#issuecomment-${comment.id}`,
    pull_request_url: issue.isPull ? issueUrl : "",
    issue_url: issue.isPull ? "" : issueUrl,
    user: author === undefined ? toGhostView(urls) : toEmbeddedUserView(author, false, urls),
    original_author: comment.originalAuthor,
    original_author_id: 0,
    body: comment.body,
    assets: attachments.map((each) => toAttachmentView(each, urls)),
    created_at: toWireTime(comment.createdAt),
    updated_at: toWireTime(comment.updatedAt),
  };
}

/** Returns the web address of an issue or a pull request. */
export function toIssueUrl(
  { repository, owner }: OwnedRepository,
  { isPull, number }: Pick<ForgeIssue, "isPull" | "number">,
  urls: ForgeUrls,
): string {
  const noun = isPull ? "pulls" : "issues";
  return toUrl(urls, `/${owner.name}/${repository.name}/${noun}/${number}`);
}

/** Returns whether the title of a pull request says that it is not to be merged yet. */
export const isDraft = (title: string): boolean => /^(?:WIP:|\[WIP\])/i.test(title);

export function toWatchView(watch: Watch, urls: ForgeUrls): WireWatch {
  const { api } = toHomes(watch.owned, urls);
  return {
    subscribed: watch.isSubscribed,
    ignored: !watch.isSubscribed,
    reason: null,
    created_at: toWireTime(watch.since),
    url:
      watch.number === undefined
        ? `${api}/subscription`
        : `${api}/issues/${watch.number}/subscriptions`,
    repository_url: api,
  };
}

export function toNewIssue(body: BodyOf<typeof issueEndpoints.createIssue>): NewIssue {
  return {
    title: body.title,
    body: body.body ?? "",
    ref: body.ref ?? "",
    isClosed: body.closed ?? false,
    dueAt: toEndOfDay(body.due_date) ?? undefined,
    milestoneId: body.milestone || undefined,
    assignees: toAssignees(body),
    labelIds: (body.labels ?? []).map(toLabelId),
  };
}

/**
 * Converts the body of an edit. An empty title keeps the former one. `unset_due_date`, or a due date before 1970, removes
 * the due date, and the milestone 0 the milestone.
 */
export function toIssueEdit(body: BodyOf<typeof issueEndpoints.editIssue>): IssueEdit {
  const state = body.state ?? "";
  return {
    title: body.title === "" ? undefined : (body.title ?? undefined),
    body: body.body ?? undefined,
    ref: body.ref ?? undefined,
    isClosed: state === "" ? undefined : state === "closed",
    dueAt: body.unset_due_date === true ? null : toEndOfDay(body.due_date),
    milestoneId: body.milestone == null ? undefined : body.milestone || null,
    assignees: toAssignees(body),
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

function toHomes({ repository, owner }: OwnedRepository, urls: ForgeUrls) {
  const fullName = `${owner.name}/${repository.name}`;
  return { fullName, api: toApiUrl(urls, `/repos/${fullName}`) };
}
