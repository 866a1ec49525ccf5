import type { WireStopwatch, WireTrackedTime } from "../../contract/forge/issues/tracked-times.ts";
import { type ForgeUrls, toWireTime } from "../urls.ts";
import { toIssueView } from "./issue.view.ts";
import type { StopwatchDetails, TimeDetails } from "./tracked-times.service.ts";

/** Converts a tracked time. The user is 0 and without a name once the account is deleted. */
export function toTrackedTimeView(
  { time, user, issue }: TimeDetails,
  urls: ForgeUrls,
): WireTrackedTime {
  return {
    id: time.id,
    created: toWireTime(time.createdAt),
    time: time.seconds,
    user_id: user?.id ?? 0,
    user_name: user?.name ?? "",
    issue_id: time.issueId,
    issue: toIssueView(issue, urls),
  };
}

export function toStopwatchView({ issue, startedAt, seconds }: StopwatchDetails): WireStopwatch {
  return {
    created: toWireTime(startedAt),
    seconds,
    duration: toDuration(seconds),
    issue_index: issue.issue.number,
    issue_title: issue.issue.title,
    repo_owner_name: issue.owned.owner.name,
    repo_name: issue.owned.repository.name,
  };
}

/** Returns seconds as hours and minutes, such as `1 hour 30 minutes`; less than a minute as seconds. */
export function toDuration(seconds: number): string {
  const parts = [
    toCount(Math.floor(seconds / 3600), "hour"),
    toCount(Math.floor(seconds / 60) % 60, "minute"),
  ].filter((part) => part !== "");
  return parts.length > 0 ? parts.join(" ") : toCount(seconds, "second");
}

function toCount(count: number, unit: string): string {
  if (count === 0) return "";
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`;
}
