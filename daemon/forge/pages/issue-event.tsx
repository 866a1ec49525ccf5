import { toPath } from "../../pages/page.ts";
import type { WireIssue } from "../../contract/forge/issues/issues.ts";
import type { WireTimelineEntry } from "../../contract/forge/issues/issue-states.ts";

/** A link to the issue, pull request, comment or commit that names this one. */
export function CauseLink({
  entry,
  home,
}: {
  readonly entry: WireTimelineEntry;
  readonly home: string;
}) {
  const { ref_issue: issue, ref_comment: comment, ref_action: action } = entry;
  if (issue === null) return <CommitLink entry={entry} />;
  const { owner, name } = issue.repository;
  const noun = issue.pull_request === null ? "issues" : "pulls";
  const path = toPath(owner, name, noun, String(issue.number));
  return (
    <>
      <a href={comment === null ? path : `${path}#issuecomment-${comment.id}`}>
        <bdi>{issue.title}</bdi> {toReference(issue, home)}
      </a>
      {action === "none" ? null : `, whose merge ${action} this`}
    </>
  );
}

/** A link to the commit that names an issue. The body of the event has the path, in the reference's HTML. */
function CommitLink({ entry }: { readonly entry: WireTimelineEntry }) {
  const path = /^<a href="(\/[\w./-]+)">/.exec(entry.body)?.[1];
  if (entry.type !== "commit_ref" || path === undefined) return null;
  return <a href={path}>{entry.ref_commit_sha.slice(0, 10)}</a>;
}

const toCause = ({ ref_commit_sha: sha }: WireTimelineEntry) =>
  sha === "" ? "" : ` by commit ${sha.slice(0, 10)}`;

const toTeamName = ({ assignee_team: team }: WireTimelineEntry) =>
  team === null ? "a team" : `the team ${team.name}`;

/** Returns the text of an event, to be shown after the name of its user. */
export function toEventText(entry: WireTimelineEntry, home: string): string {
  const dependent = entry.dependent_issue;
  const other = dependent === null ? "another issue" : toReference(dependent, home);
  const { label, assignee, milestone, old_milestone: former } = entry;
  switch (entry.type) {
    case "close":
      return `closed this${toCause(entry)}`;
    case "reopen":
      return `reopened this${toCause(entry)}`;
    case "issue_ref":
    case "pull_ref":
      return "named this in";
    case "comment_ref":
      return "named this in a comment on";
    case "commit_ref":
      return "named this in commit";
    case "label":
      return `${entry.body === "1" ? "added" : "removed"} the label ${label?.name ?? ""}`;
    case "assignees":
      return `${entry.removed_assignee ? "unassigned" : "assigned"} ${assignee?.login ?? ""}`;
    case "milestone":
      return milestone === null
        ? `removed this from the milestone ${former?.title ?? ""}`
        : `added this to the milestone ${milestone.title}`;
    case "change_title":
      return `changed the title from ${entry.old_title} to ${entry.new_title}`;
    case "added_deadline":
    case "modified_deadline":
      return `set the due date to ${entry.body.split("|", 1).join()}`;
    case "removed_deadline":
      return "removed the due date";
    case "pin":
      return "pinned this";
    case "unpin":
      return "unpinned this";
    case "unlock":
      return "unlocked this";
    case "lock":
      return entry.body === "" ? "locked this" : `locked this: ${entry.body}`;
    case "add_dependency":
      return `added a dependency with ${other}`;
    case "remove_dependency":
      return `removed the dependency with ${other}`;
    case "start_tracking":
      return "started working on this";
    case "stop_tracking":
      return `worked on this for ${entry.body || "less than a second"}`;
    case "cancel_tracking":
      return "stopped working on this without tracking the time";
    case "add_time_manual":
      return `tracked ${entry.body} of work`;
    case "delete_time_manual":
      return `deleted ${entry.body} of tracked time`;
    case "pull_push":
      return "pushed to this";
    case "merge_pull":
      return "merged this";
    case "pull_scheduled_merge":
      return "scheduled the merge";
    case "pull_cancel_scheduled_merge":
      return "cancelled the scheduled merge";
    case "change_target_branch":
      return `changed the base from ${entry.old_ref} to ${entry.new_ref}`;
    case "delete_branch":
      return `deleted the branch ${entry.old_ref}`;
    case "review_request":
      return `${entry.removed_assignee ? "took back a request for a review by" : "asked for a review by"} ${assignee?.login ?? toTeamName(entry)}`;
    case "dismiss_review":
      return entry.body === "" ? "dismissed a review" : `dismissed a review: ${entry.body}`;
    default:
      return `${entry.type.replaceAll("_", " ")} ${entry.body}`;
  }
}

/** Returns the short name of an issue: `#7`, or `owner/name#7` for another repository. */
export function toReference({ repository, number }: WireIssue, home: string): string {
  return repository.full_name === home ? `#${number}` : `${repository.full_name}#${number}`;
}
