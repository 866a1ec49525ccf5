import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import {
  optionalText,
  optionalTime,
  paging,
  pathInteger,
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

export const trackedTimeEndpoints = {
  ...resource(
    {
      name: "forge.issues.times",
      path: "/api/v1/repos/:owner/:repo/issues/:index/times",
      params: issueParams,
      id: { id: pathInteger },
      shape: trackedTimeShape,
      gate: forgeUser("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      },
      refuses: [400],
    },
    ({ list, remove, operation }) => ({
      listIssueTimes: list("The time tracked on an issue; without write access only your own", {
        filters: { user: trimmedQueryText, ...range },
        refuses: [422],
      }),
      addIssueTime: operation({
        as: "add",
        method: "POST",
        summary: "Add time to an issue, in seconds",
        body: z.object({
          time: z
            .int({ error: "Required" })
            .min(1, { error: "Required" })
            .max(SECONDS_MAX, { error: "MaxSize" }),
          created: optionalTime,
          user_name: optionalText(),
        }),
        replies: { 200: trackedTimeShape },
      }),
      resetIssueTimes: operation({
        as: "reset",
        method: "DELETE",
        summary: "Delete all of your time on an issue",
        replies: { 204: empty },
      }),
      deleteIssueTime: remove("Delete one of your times on an issue"),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.times",
      path: "/api/v1/repos/:owner/:repo/times",
      params: repositoryParams,
      id: { user: z.string() },
      shape: trackedTimeShape,
      gate: forgeUser("repository"),
      on: repository("issues", "read"),
      refuses: [400],
    },
    ({ list, operation }) => ({
      listRepositoryTimes: list(
        "The time tracked in a repository; without write access only your own",
        {
          filters: { user: trimmedQueryText, ...range },
          refuses: [422],
        },
      ),
      listUserTimes: operation({
        as: "user",
        method: "GET",
        item: true,
        summary: "The time that a user tracked in a repository; for that user and administrators",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: z.array(trackedTimeShape) },
        apiOnly: '"croft issue time list --user" lists the same',
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.times",
      path: "/api/v1/user/times",
      shape: trackedTimeShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      listOwnTimes: list("The time that you tracked in all repositories that you may read", {
        filters: { ...range },
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.stopwatch",
      path: "/api/v1/repos/:owner/:repo/issues/:index/stopwatch",
      params: issueParams,
      gate: forgeUser("issue"),
      on: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      refuses: [400, 409],
    },
    ({ remove, operation }) => ({
      startStopwatch: operation({
        method: "POST",
        at: "start",
        summary: "Start your stopwatch on an issue; one that runs on another issue is stopped",
        replies: { 201: empty },
      }),
      stopStopwatch: operation({
        method: "POST",
        at: "stop",
        summary: "Stop your stopwatch on an issue and keep its time",
        replies: { 201: empty },
      }),
      cancelStopwatch: remove("Stop your stopwatch on an issue and drop its time", {
        as: "cancel",
        at: "delete",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.stopwatches",
      path: "/api/v1/user/stopwatches",
      shape: stopwatchShape,
      gate: forgeUser("user"),
    },
    ({ list }) => ({
      listStopwatches: list("Your running stopwatch; at most one runs"),
    }),
  ),
};
