import { z } from "zod";
import { anyoneWithin, endpoint, forgeUser } from "../endpoint.ts";
import { userShape } from "./accounts/users.ts";
import {
  apiError,
  paging,
  pathInteger,
  queryFlag,
  queryText,
  signedInReplies,
  usernameParams,
  wireId,
  wireTime,
} from "./common.ts";
import { commentShape } from "./issues/issues.ts";
import { organizationParams } from "./organizations/organizations.ts";
import { repositoryParams, repositoryShape } from "./repositories/repositories.ts";

/** The kinds of activities that happen here, of those that Gitea has. */
export const activityWords = [
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
] as const;

export const activityShape = z.object({
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
  /** The full ref, such as `refs/heads/main`; only pushes and deletions have one, others an empty text. */
  ref_name: z.string(),
  /** Whether the repository is private now. */
  is_private: z.boolean(),
  /**
   * `NUMBER|TITLE` of an opened issue, `NUMBER|TEXT` of a comment, `NUMBER|` of a closed or reopened one; the former name of
   * a renamed repository, the former `OWNER/NAME` of a transferred one; JSON of the commits of a push.
   */
  content: z.string(),
  created: wireTime,
});
export type WireActivity = z.output<typeof activityShape>;

/** A day in UTC; any other text is ignored. */
const date = queryText.meta({ format: "date" });
const query = z.object({ ...paging, date });
const replies = { 200: z.array(activityShape), ...signedInReplies, 404: apiError } as const;

/** Empty for an account that hides its activity from the caller. */
export const listUserActivities = endpoint({
  name: "forge.users.activities.list",
  method: "GET",
  path: "/api/v1/users/:username/activities/feeds",
  summary: "The activities of a user, and those in repositories that the user watches",
  gate: anyoneWithin("user"),
  params: usernameParams,
  query: query.extend({ "only-performed-by": queryFlag }),
  paging: "link_and_total",
  replies,
});

export const listRepositoryActivities = endpoint({
  name: "forge.repos.activities.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/activities/feeds",
  summary: "The activities in a repository",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  query,
  paging: "link_and_total",
  replies,
});

export const listOrganizationActivities = endpoint({
  name: "forge.orgs.activities.list",
  method: "GET",
  path: "/api/v1/orgs/:org/activities/feeds",
  summary: "The activities in repositories of an organization",
  gate: anyoneWithin("organization"),
  params: organizationParams,
  query,
  paging: "link_and_total",
  replies,
});

export const listTeamActivities = endpoint({
  name: "forge.teams.activities.list",
  method: "GET",
  path: "/api/v1/teams/:team/activities/feeds",
  summary: "The activities in repositories of a team",
  gate: forgeUser("organization"),
  params: z.object({ team: pathInteger }),
  query,
  paging: "link_and_total",
  replies,
});

export const activityEndpoints = {
  listUserActivities,
  listRepositoryActivities,
  listOrganizationActivities,
  listTeamActivities,
};
