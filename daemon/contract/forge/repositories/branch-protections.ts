import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  integer,
  optionalFlag,
  optionalInteger,
  optionalText,
  optionalWords,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "./repositories.ts";

/** Maximum number of rules of one repository: each push evaluates all of them. */
export const RULES_MAX = 100;

// Rules that protect branches: from pushes, forced pushes and deletion, and from merges of pull requests that do not meet
// their requirements.

export const protectionFlags = [
  "enable_push",
  "enable_push_whitelist",
  "push_whitelist_deploy_keys",
  "enable_force_push",
  "enable_force_push_allowlist",
  "force_push_allowlist_deploy_keys",
  "enable_merge_whitelist",
  "enable_bypass_allowlist",
  "enable_status_check",
  "enable_approvals_whitelist",
  "block_on_rejected_reviews",
  "block_on_official_review_requests",
  "block_on_outdated_branch",
  "dismiss_stale_approvals",
  "ignore_stale_approvals",
  "require_signed_commits",
  "block_admin_merge_override",
] as const;

export const protectionUserLists = [
  "push_whitelist_usernames",
  "force_push_allowlist_usernames",
  "merge_whitelist_usernames",
  "bypass_allowlist_usernames",
  "approvals_whitelist_username",
] as const;

export const protectionTeamLists = [
  "push_whitelist_teams",
  "force_push_allowlist_teams",
  "merge_whitelist_teams",
  "bypass_allowlist_teams",
  "approvals_whitelist_teams",
] as const;

export const protectionTexts = ["protected_file_patterns", "unprotected_file_patterns"] as const;

const toMembers = <K extends string, S extends z.ZodType>(names: readonly K[], schema: S) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<K, S>;

const PATTERNS_MAX = 2_048;
const RULE_MAX = 255;

const members = {
  ...toMembers(protectionFlags, optionalFlag),
  ...toMembers(protectionUserLists, optionalWords),
  ...toMembers(protectionTeamLists, optionalWords),
  ...toMembers(protectionTexts, optionalText({ max: PATTERNS_MAX })),
  status_check_contexts: optionalWords,
  required_approvals: optionalInteger,
  priority: optionalInteger,
};
const editBody = z.object(members);
export type ProtectionEdit = z.output<typeof editBody>;

const protectionShape = z.object({
  /** For the order of rules. */
  id: wireId,
  /** Empty for a rule whose name is a pattern. */
  branch_name: z.string(),
  rule_name: z.string(),
  priority: z.int(),
  ...toMembers(protectionFlags, z.boolean()),
  ...toMembers(protectionUserLists, z.array(z.string())),
  ...toMembers(protectionTeamLists, z.array(z.string())),
  ...toMembers(protectionTexts, z.string()),
  status_check_contexts: z.array(z.string()),
  required_approvals: z.int(),
  created_at: wireTime,
  updated_at: wireTime,
});
export type WireBranchProtection = z.output<typeof protectionShape>;

const params = repositoryParams.extend({ rule: z.string() });
const gate = forgeUser("repository");

export const branchProtectionEndpoints = resource(
  {
    name: "forge.repos.protections",
    path: "/api/v1/repos/:owner/:repo/branch_protections",
    params: repositoryParams,
    shape: protectionShape,
    gate,
    on: repository("code", "admin", { evenOff: true }),
  },
  ({ create, operation }) => ({
    listBranchProtections: operation({
      as: "list",
      method: "GET",
      summary: "The rules that protect branches, in the order in which they are tried",
      replies: { 200: z.array(protectionShape) },
    }),
    getBranchProtection: operation({
      as: "get",
      method: "GET",
      at: "**:rule",
      summary: "A rule that protects branches",
      params,
      replies: { 200: protectionShape },
    }),
    createBranchProtection: create(
      "Protect the branches whose names match: no deletion, and pushes according to the rule",
      z.object({
        rule_name: optionalText({ max: RULE_MAX }),
        branch_name: optionalText({ max: RULE_MAX }),
        ...members,
      }),
      { refuses: [400] },
    ),
    orderBranchProtections: operation({
      as: "order",
      method: "POST",
      at: "priority",
      summary: "Give rules the priorities 1, 2 and so on, in the order of their ids",
      body: z.object({
        ids: z.array(integer, { error: "Required" }).max(RULES_MAX, { error: "MaxSize" }),
      }),
      replies: { 204: empty },
      apiOnly: "croft repo protect edit --priority changes the place of one rule",
    }),
    editBranchProtection: operation({
      as: "edit",
      method: "PATCH",
      at: "**:rule",
      summary: "Change a rule; members that are absent stay",
      params,
      body: editBody,
      replies: { 200: protectionShape },
    }),
    deleteBranchProtection: operation({
      as: "delete",
      method: "DELETE",
      at: "**:rule",
      summary: "Remove a rule",
      params,
      replies: { 204: empty },
    }),
  }),
);
