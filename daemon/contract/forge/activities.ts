import { z } from "zod";
import { resource } from "./resource.ts";
import { organization, repository, team } from "../permission.ts";
import { anyoneWithin, forgeUser } from "../endpoint.ts";
import { userShape } from "./accounts/users.ts";
import {
  paging,
  pathInteger,
  queryFlag,
  queryText,
  usernameParams,
  wireId,
  wireTime,
} from "./common.ts";
import { commentShape } from "./issues/issues.ts";
import { organizationParams } from "./organizations/organizations.ts";
import { repositoryParams, repositoryShape } from "./repositories/repositories.ts";

/** The kinds of activities that happen here, of those that Gitea has. */
const activityWords = [
  "create_repo",
  "rename_repo",
  "transfer_repo",
  "commit_repo",
  "push_tag",
  "delete_branch",
  "delete_tag",
  "create_issue",
  "comment_issue",
  "close_issue",
  "reopen_issue",
  "create_pull_request",
  "comment_pull",
  "merge_pull_request",
  "close_pull_request",
  "reopen_pull_request",
  "publish_release",
] as const;

const activityShape = z.object({
  id: wireId,
  /** The account in whose feed it is; that of the actor in the feed of a repository. */
  user_id: wireId,
  op_type: z.enum(activityWords),
  act_user_id: wireId,
  act_user: userShape,
  repo_id: wireId,
  repo: repositoryShape,
  /** 0 without a comment. */
  comment_id: wireId,
  comment: commentShape.nullable(),
  /** The full ref of a push or deletion, such as `refs/heads/main`; the tag of a release, such as `v1`; else empty. */
  ref_name: z.string(),
  /** Whether the repository is private now. */
  is_private: z.boolean(),
  /**
   * `NUMBER|TITLE` of an opened issue, `NUMBER|TEXT` of a comment, `NUMBER|` of a closed or reopened one; the former name of
   * a renamed repository, the former `OWNER/NAME` of a transferred one; the title of a release; JSON of the commits of a push.
   */
  content: z.string(),
  created: wireTime,
});
export type WireActivity = z.output<typeof activityShape>;

/** A day in UTC; any other text is ignored. */
const date = queryText.meta({ format: "date" });
const query = z.object({ ...paging, date });

export const activityEndpoints = {
  ...resource(
    {
      name: "forge.users.activities",
      path: "/api/v1/users/:username/activities/feeds",
      params: usernameParams,
      gate: anyoneWithin("user"),
    },
    ({ operation }) => ({
      /** Empty for an account that hides its activity from the caller. */
      listUserActivities: operation({
        as: "list",
        method: "GET",
        summary: "The activities of a user, and those in repositories that the user watches",
        query: query.extend({ "only-performed-by": queryFlag }),
        paging: "link_and_total",
        replies: { 200: z.array(activityShape) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.activities",
      path: "/api/v1/repos/:owner/:repo/activities/feeds",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("any", "read"),
    },
    ({ operation }) => ({
      listRepositoryActivities: operation({
        as: "list",
        method: "GET",
        summary: "The activities in a repository",
        query,
        paging: "link_and_total",
        replies: { 200: z.array(activityShape) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.activities",
      path: "/api/v1/orgs/:org/activities/feeds",
      params: organizationParams,
      gate: anyoneWithin("organization"),
      on: organization("viewer"),
    },
    ({ operation }) => ({
      listOrganizationActivities: operation({
        as: "list",
        method: "GET",
        summary: "The activities in repositories of an organization",
        query,
        paging: "link_and_total",
        replies: { 200: z.array(activityShape) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.teams.activities",
      path: "/api/v1/teams/:team/activities/feeds",
      params: z.object({ team: pathInteger }),
      gate: forgeUser("organization"),
      on: team("viewer"),
    },
    ({ operation }) => ({
      listTeamActivities: operation({
        as: "list",
        method: "GET",
        summary: "The activities in repositories of a team",
        query,
        paging: "link_and_total",
        replies: { 200: z.array(activityShape) },
      }),
    }),
  ),
};
