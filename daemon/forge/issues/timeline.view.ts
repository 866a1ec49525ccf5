import {
  type UserId,
  type IssueId,
  type MilestoneId,
  type TrackedTimeId,
  type CommentId,
  type TeamId,
  toCommentId,
  toUserId,
  toIssueId,
  toTrackedTimeId,
} from "../../../storage/tables/forge/ids.ts";
import type { EventDetails, TimelineKind } from "../../../storage/tables/forge/issues/timeline.ts";
import type { WireTimelineEntry } from "../../contract/forge/issues/issue-states.ts";
import type { WireReaction } from "../../contract/forge/issues/reactions.ts";
import { toTeamView } from "../accounts/organization.view.ts";
import { toEmbeddedUserView, toGhostView } from "../accounts/user.view.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import { toCommentView, toIssueUrl, toIssueView } from "./issue.view.ts";
import { toLabelView, toMilestoneView } from "./planning.view.ts";
import type { ReactionDetails } from "./reactions.service.ts";
import { toDuration, toTrackedTimeView } from "./tracked-time.view.ts";
import type { TimelineDetails } from "./timeline.service.ts";

/** The kinds of entries that have a text of their own. */
const textKinds = new Set<TimelineKind>(["comment", "review", "dismiss_review"]);

/** Converts the entries of a timeline. */
export function toTimelineView(
  {
    owned,
    issue,
    entries,
    people,
    teams,
    milestones,
    dependents,
    refComments,
    times,
  }: TimelineDetails,
  urls: ForgeUrls,
): WireTimelineEntry[] {
  const issueUrl = toIssueUrl(owned, issue, urls);
  const toUser = (id: UserId | undefined) => {
    const user = people.get(id ?? toUserId(-1));
    return user === undefined ? toGhostView(urls) : toEmbeddedUserView(user, false, urls);
  };
  const toMilestone = (id: MilestoneId | undefined) => {
    const milestone = id === undefined ? undefined : milestones.get(id);
    return milestone === undefined ? null : toMilestoneView(milestone);
  };
  const toIssue = (id: IssueId | undefined) => {
    const dependent = dependents.get(id ?? toIssueId(-1));
    return dependent === undefined ? null : toIssueView(dependent, urls);
  };
  const toTime = (id: TrackedTimeId | undefined) => {
    const time = times.get(id ?? toTrackedTimeId(-1));
    return time === undefined ? null : toTrackedTimeView(time, urls);
  };
  const toLabel = ({ label }: EventDetails) =>
    label === undefined
      ? null
      : toLabelView(
          {
            label: { ...label, isExclusive: false, archivedAt: undefined, orgId: undefined },
            place: owned,
          },
          urls,
        );
  const toComment = (id: CommentId | undefined) => {
    const details = refComments.get(id ?? toCommentId(-1));
    return details === undefined ? null : toCommentView(details, urls);
  };
  const toTeam = (id: TeamId | undefined) => {
    const team = id === undefined ? undefined : teams.get(id);
    return team === undefined ? null : toTeamView(team, owned.owner, urls);
  };
  return entries.map(({ id, kind, authorId, body, details, createdAt, updatedAt, ...entry }) => ({
    id,
    type: kind,
    html_url: `${issueUrl}#issuecomment-${id}`,
    pull_request_url: issue.isPull ? issueUrl : "",
    issue_url: issue.isPull ? "" : issueUrl,
    user: toUser(authorId),
    body: textKinds.has(kind) ? body : toEventText(details),
    created_at: toWireTime(createdAt),
    updated_at: toWireTime(updatedAt),
    old_project_id: 0,
    project_id: 0,
    old_milestone: toMilestone(details.oldMilestoneId),
    milestone: toMilestone(details.milestoneId),
    tracked_time: toTime(details.trackedTimeId),
    old_title: details.oldTitle ?? "",
    new_title: details.newTitle ?? "",
    old_ref: kind === "pull_push" ? "" : (details.oldRef ?? ""),
    new_ref: kind === "pull_push" ? "" : (details.newRef ?? ""),
    ref_issue: toIssue(entry.refIssueId),
    ref_comment: toComment(entry.refCommentId),
    ref_action: details.refAction ?? "none",
    ref_commit_sha: details.commitId ?? "",
    review_id: details.reviewId ?? 0,
    label: toLabel(details),
    assignee: details.assigneeId === undefined ? null : toUser(details.assigneeId),
    assignee_team: toTeam(details.teamId),
    removed_assignee:
      (details.assigneeId ?? details.teamId) !== undefined && details.removed === true,
    resolve_doer: null,
    dependent_issue: toIssue(details.dependentIssueId),
  }));
}

/**
 * Returns the text of an event in the reference: "1" for an added label, the days of due dates, the reason of a lock,
 * the duration of tracked time, a link to a commit, the commits of a push.
 */
function toEventText(details: EventDetails): string {
  if (details.commitIds !== undefined)
    return JSON.stringify({
      is_force_push: details.isForcePush === true,
      commit_ids: details.commitIds,
    });
  if (details.seconds !== undefined) return toDuration(details.seconds);
  if (details.commitLink !== undefined) return details.commitLink;
  if (details.label !== undefined) return details.removed === true ? "" : "1";
  const days = [details.dueAt, details.oldDueAt].filter((at) => at !== undefined).map(toDay);
  return days.length > 0 ? days.join("|") : (details.reason ?? "");
}

const toDay = (at: number) => toWireTime(at).slice(0, 10);

export function toReactionView({ reaction, user }: ReactionDetails, urls: ForgeUrls): WireReaction {
  return {
    user: user === undefined ? toGhostView(urls) : toEmbeddedUserView(user, false, urls),
    content: reaction.content,
    created_at: toWireTime(reaction.createdAt),
  };
}
