import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalText,
  optionalTime,
  paging,
  pathInteger,
  signedInReplies,
  trimmedQueryText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { issueShape } from "./issues.ts";

/** The longest time that one entry holds, in seconds: ten years. */
const SECONDS_MAX = 10 * 366 * 86_400;

/** Time that a user worked on an issue. */
export const trackedTimeShape = z.object({
  id: wireId,
  created: wireTime,
  /** Seconds. */
  time: z.int(),
  user_id: wireId,
  user_name: z.string(),
  issue_id: wireId,
  issue: issueShape.nullable(),
});
export type WireTrackedTime = z.output<typeof trackedTimeShape>;

const stopwatchShape = z.object({
  created: wireTime,
  seconds: z.int(),
  duration: z.string(),
  issue_index: wireId,
  issue_title: z.string(),
  repo_owner_name: z.string(),
  repo_name: z.string(),
});
export type WireStopwatch = z.output<typeof stopwatchShape>;

const issueParams = repositoryParams.extend({ index: pathInteger });
const range = { since: trimmedQueryText, before: trimmedQueryText };
/** 400: time tracking is off in the repository. */
const lookupReplies = { ...signedInReplies, 400: apiError, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError, 423: apiError } as const;

export const listIssueTimes = endpoint({
  name: "forge.issues.times.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/times",
  summary: "The time tracked on an issue; without write access only your own",
  gate: forgeUser("issue"),
  params: issueParams,
  query: z.object({ user: trimmedQueryText, ...range, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(trackedTimeShape), ...lookupReplies, 422: apiError },
});

export const addIssueTime = endpoint({
  name: "forge.issues.times.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/times",
  summary: "Add time to an issue, in seconds",
  gate: forgeUser("issue"),
  params: issueParams,
  body: z.object({
    time: z
      .int({ error: "Required" })
      .min(1, { error: "Required" })
      .max(SECONDS_MAX, { error: "MaxSize" }),
    created: optionalTime,
    user_name: optionalText(),
  }),
  replies: { 200: trackedTimeShape, ...changed },
});

export const resetIssueTimes = endpoint({
  name: "forge.issues.times.reset",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/times",
  summary: "Delete all of your time on an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies, 423: apiError },
});

export const deleteIssueTime = endpoint({
  name: "forge.issues.times.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/times/:id",
  summary: "Delete one of your times on an issue",
  gate: forgeUser("issue"),
  params: issueParams.extend({ id: pathInteger }),
  replies: { 204: empty, ...lookupReplies, 423: apiError },
});

export const listRepositoryTimes = endpoint({
  name: "forge.repos.times.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/times",
  summary: "The time tracked in a repository; without write access only your own",
  gate: forgeUser("repository"),
  params: repositoryParams,
  query: z.object({ user: trimmedQueryText, ...range, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(trackedTimeShape), ...lookupReplies, 422: apiError },
});

export const listUserTimes = endpoint({
  name: "forge.repos.times.user",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/times/:user",
  summary: "The time that a user tracked in a repository; for that user and administrators",
  gate: forgeUser("repository"),
  params: repositoryParams.extend({ user: z.string() }),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(trackedTimeShape), ...lookupReplies },
  apiOnly: '"croft issue time list --user" lists the same',
});

export const listOwnTimes = endpoint({
  name: "forge.user.times.list",
  method: "GET",
  path: "/api/v1/user/times",
  summary: "The time that you tracked in all repositories that you may read",
  gate: forgeUser("user"),
  query: z.object({ ...range, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(trackedTimeShape), ...signedInReplies, 422: apiError },
});

export const startStopwatch = endpoint({
  name: "forge.issues.stopwatch.start",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/stopwatch/start",
  summary: "Start your stopwatch on an issue; one that runs on another issue is stopped",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 201: empty, ...lookupReplies, 409: apiError, 423: apiError },
});

export const stopStopwatch = endpoint({
  name: "forge.issues.stopwatch.stop",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/stopwatch/stop",
  summary: "Stop your stopwatch on an issue and keep its time",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 201: empty, ...lookupReplies, 409: apiError, 423: apiError },
});

export const cancelStopwatch = endpoint({
  name: "forge.issues.stopwatch.cancel",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/stopwatch/delete",
  summary: "Stop your stopwatch on an issue and drop its time",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...lookupReplies, 409: apiError, 423: apiError },
});

export const listStopwatches = endpoint({
  name: "forge.user.stopwatches.list",
  method: "GET",
  path: "/api/v1/user/stopwatches",
  summary: "Your running stopwatch; at most one runs",
  gate: forgeUser("user"),
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(stopwatchShape), ...signedInReplies },
});

export const trackedTimeEndpoints = {
  listIssueTimes,
  addIssueTime,
  resetIssueTimes,
  deleteIssueTime,
  listRepositoryTimes,
  listUserTimes,
  listOwnTimes,
  startStopwatch,
  stopStopwatch,
  cancelStopwatch,
  listStopwatches,
};
