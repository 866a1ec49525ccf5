import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  bindingNames,
  optionalFlag,
  optionalText,
  paging,
  queryText,
  requiredText,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName, isRefName } from "../repositories/rules.ts";
import {
  refusedWriteReplies,
  payloadCommitShape,
  readLimit,
  refusedReadReplies,
  writeLimit,
} from "./shapes.ts";

const NAME_MAX = 100;
const refName = { max: NAME_MAX, rules: [["GitRefName", isRefName]] } as const;
const newRefName = { max: NAME_MAX, rules: [["GitRefName", isNewRefName]] } as const;
const params = repositoryParams.extend({ branch: z.string() });

const branchShape = z.object({
  name: z.string(),
  commit: payloadCommitShape,
  protected: z.boolean(),
  required_approvals: z.int(),
  enable_status_check: z.boolean(),
  status_check_contexts: z.array(z.string()),
  user_can_push: z.boolean(),
  user_can_merge: z.boolean(),
  /** The rule that protects it; empty for callers who do not administer the repository. */
  effective_branch_protection_name: z.string(),
});
export type WireBranch = z.output<typeof branchShape>;

export const listBranches = endpoint({
  name: "forge.repos.branches.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/branches",
  summary: "The branches of a repository, the newest commit first",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query: z.object({ q: queryText, ...paging }),
  paging: "link_and_total",
  replies: { 200: z.array(branchShape), ...refusedReadReplies },
});

export const getBranch = endpoint({
  name: "forge.repos.branches.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/branches/**:branch",
  summary: "A branch with its newest commit",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  replies: { 200: branchShape, ...refusedReadReplies },
});

export const createBranch = endpoint({
  name: "forge.repos.branches.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/branches",
  summary: "Create a branch from a branch, tag or commit; from the default branch if none is named",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params: repositoryParams,
  body: z.object({
    new_branch_name: requiredText(newRefName).register(bindingNames, { field: "BranchName" }),
    old_branch_name: optionalText(refName),
    old_ref_name: optionalText(refName),
  }),
  replies: { 201: branchShape, ...refusedWriteReplies },
});

/** `old_commit_id` guards against a push in between; without `force` the branch may only be fast-forwarded. */
export const updateBranch = endpoint({
  name: "forge.repos.branches.update",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/branches/**:branch",
  summary: "Point a branch to another commit",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params,
  body: z.object({
    new_commit_id: requiredText(),
    old_commit_id: optionalText(),
    force: optionalFlag,
  }),
  replies: { 204: empty, ...refusedWriteReplies },
  apiOnly: "people push",
});

export const renameBranch = endpoint({
  name: "forge.repos.branches.rename",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/branches/**:branch",
  summary: "Rename a branch; the default branch stays the default",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params,
  body: z.object({ name: requiredText(newRefName) }),
  replies: { 204: empty, ...refusedWriteReplies },
});

export const deleteBranch = endpoint({
  name: "forge.repos.branches.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/branches/**:branch",
  summary: "Delete a branch that is not the default one",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params,
  replies: { 204: empty, ...refusedWriteReplies },
});

export const branchEndpoints = {
  listBranches,
  getBranch,
  createBranch,
  updateBranch,
  renameBranch,
  deleteBranch,
};
