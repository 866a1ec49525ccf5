import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { empty } from "../../endpoint.ts";
import { bindingNames, optionalFlag, optionalText, queryText, requiredText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName, isRefName } from "../repositories/rules.ts";
import { payloadCommitShape, readLimit, writeLimit } from "./shapes.ts";

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

export const branchEndpoints = resource(
  {
    name: "forge.repos.branches",
    path: "/api/v1/repos/:owner/:repo/branches",
    params: repositoryParams,
    shape: branchShape,
    gate: openTo("repository"),
    on: { read: repository("code", "read"), change: repository("code", "write") },
    refuses: [503],
  },
  ({ list, create, operation }) => ({
    listBranches: list("The branches of a repository, the newest commit first", {
      filters: { q: queryText },
      limit: readLimit,
    }),
    getBranch: operation({
      as: "get",
      method: "GET",
      at: "**:branch",
      summary: "A branch with its newest commit",
      params,
      replies: { 200: branchShape },
      limit: readLimit,
    }),
    createBranch: create(
      "Create a branch from a branch, tag or commit; from the default branch if none is named",
      z.object({
        new_branch_name: requiredText(newRefName).register(bindingNames, { field: "BranchName" }),
        old_branch_name: optionalText(refName),
        old_ref_name: optionalText(refName),
      }),
      { limit: writeLimit, refuses: [409] },
    ),
    /** `old_commit_id` guards against a push in between; without `force` the branch may only be fast-forwarded. */
    updateBranch: operation({
      as: "update",
      method: "PUT",
      at: "**:branch",
      summary: "Point a branch to another commit",
      params,
      body: z.object({
        new_commit_id: requiredText(),
        old_commit_id: optionalText(),
        force: optionalFlag,
      }),
      replies: { 204: empty },
      limit: writeLimit,
      refuses: [409],
      apiOnly: "people push",
    }),
    renameBranch: operation({
      as: "rename",
      method: "PATCH",
      at: "**:branch",
      summary: "Rename a branch; the default branch stays the default",
      params,
      body: z.object({ name: requiredText(newRefName) }),
      replies: { 204: empty },
      limit: writeLimit,
      refuses: [409],
    }),
    deleteBranch: operation({
      as: "delete",
      method: "DELETE",
      at: "**:branch",
      summary: "Delete a branch that is not the default one",
      params,
      replies: { 204: empty },
      limit: writeLimit,
      refuses: [409, 412],
    }),
  }),
);
