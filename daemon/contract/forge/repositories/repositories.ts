import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, forgeUser } from "../../endpoint.ts";
import { optionalFlag, optionalText, pathInteger, wireId, wireTime } from "../common.ts";
import { teamShape } from "../accounts/orgs.ts";
import { isAlphaDashDot, isNewRefName } from "./rules.ts";
import {
  externalTrackerShape,
  externalWikiShape,
  internalTrackerShape,
  settingMembers,
} from "./settings.ts";
import { isWebUrl } from "../rules.ts";
import { userShape } from "../accounts/users.ts";

/** The caller's permissions on a repository. */
const permissionShape = z.object({
  admin: z.boolean(),
  push: z.boolean(),
  pull: z.boolean(),
});

/** A repository without its parent. */
const plainRepositoryShape = z.object({
  id: wireId,
  owner: userShape,
  name: z.string(),
  full_name: z.string(),
  description: z.string(),
  empty: z.boolean(),
  private: z.boolean(),
  fork: z.boolean(),
  template: z.boolean(),
  mirror: z.boolean(),
  size: z.int(),
  language: z.string(),
  languages_url: z.string(),
  html_url: z.string(),
  url: z.string(),
  link: z.string(),
  ssh_url: z.string(),
  clone_url: z.string(),
  original_url: z.string(),
  website: z.string(),
  stars_count: z.int(),
  forks_count: z.int(),
  watchers_count: z.int(),
  branch_count: z.int(),
  open_issues_count: z.int(),
  open_pr_counter: z.int(),
  release_counter: z.int(),
  default_branch: z.string(),
  archived: z.boolean(),
  created_at: wireTime,
  updated_at: wireTime,
  archived_at: wireTime,
  /** Left out where a repository is only a subject, as in notifications. */
  permissions: permissionShape.optional(),
  has_code: z.boolean(),
  has_issues: z.boolean(),
  /** Left out where issues are off or kept elsewhere. */
  internal_tracker: internalTrackerShape.optional(),
  external_tracker: externalTrackerShape.optional(),
  has_wiki: z.boolean(),
  external_wiki: externalWikiShape.optional(),
  has_pull_requests: z.boolean(),
  has_projects: z.boolean(),
  projects_mode: z.string(),
  has_releases: z.boolean(),
  has_packages: z.boolean(),
  has_actions: z.boolean(),
  ignore_whitespace_conflicts: z.boolean(),
  allow_merge_commits: z.boolean(),
  allow_rebase: z.boolean(),
  allow_rebase_explicit: z.boolean(),
  allow_squash_merge: z.boolean(),
  allow_fast_forward_only_merge: z.boolean(),
  allow_merge_update: z.boolean(),
  allow_rebase_update: z.boolean(),
  allow_manual_merge: z.boolean(),
  autodetect_manual_merge: z.boolean(),
  default_delete_branch_after_merge: z.boolean(),
  default_merge_style: z.string(),
  default_update_style: z.string(),
  default_allow_maintainer_edit: z.boolean(),
  avatar_url: z.string(),
  internal: z.boolean(),
  mirror_interval: z.string(),
  object_format_name: z.enum(["sha1", "sha256"]),
  mirror_updated: wireTime,
  mirror_last_sync_at: wireTime,
  /** Left out unless a transfer is pending. */
  repo_transfer: z
    .object({ doer: userShape, recipient: userShape, teams: z.array(teamShape) })
    .optional(),
  topics: z.array(z.string()),
  licenses: z.array(z.string()),
});

/** A repository. Members that this server never fills are left out. */
export const repositoryShape = plainRepositoryShape.extend({
  /** The repository from which it was forked. Left out for other repositories, and where the caller may not read it. */
  parent: plainRepositoryShape.optional(),
});
export type WireRepository = z.output<typeof repositoryShape>;

/** The path of a route below a repository. */
export const repositoryParams = z.object({ owner: z.string(), repo: z.string() });

export const repositoryEndpoints = {
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo",
      params: repositoryParams,
      shape: repositoryShape,
      gate: anyoneWithin("repository"),
      on: repository("any", "read"),
    },
    ({ get }) => ({
      getRepository: get("A repository by owner and name"),
    }),
  ),
  ...resource(
    {
      name: "forge.repositories",
      path: "/api/v1/repositories/:id",
      params: z.object({ id: pathInteger.brand<"RepositoryId">() }),
      shape: repositoryShape,
      gate: forgeUser("repository"),
    },
    ({ get }) => ({
      getRepositoryById: get("A repository by id", {
        apiOnly: "people name a repository by owner and name",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo",
      params: repositoryParams,
      gate: forgeUser("repository"),
      on: repository("any", "admin"),
      acceptsArchived: true,
    },
    ({ remove, operation }) => ({
      editRepository: operation({
        as: "edit",
        method: "PATCH",
        summary:
          "Change or rename a repository; members that are absent stay, and a former name leads on",
        body: z.object({
          name: optionalText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
          description: optionalText({ max: 2048 }),
          website: optionalText({ max: 1024, rules: [["Url", isWebUrl]] }),
          private: optionalFlag,
          template: optionalFlag,
          default_branch: optionalText({ max: 100, rules: [["GitRefName", isNewRefName]] }),
          archived: optionalFlag,
          /** Of a mirror, such as `8h0m0s`. */
          mirror_interval: optionalText({ max: 40 }),
          ...settingMembers,
        }),
        replies: { 200: repositoryShape },
      }),
      deleteRepository: remove("Delete a repository with everything in it", {
        on: repository("any", "owner"),
      }),
    }),
  ),
};
