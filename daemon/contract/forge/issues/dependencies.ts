import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { optionalText, pathInteger } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { issueShape } from "./issues.ts";

const issueParams = repositoryParams.extend({ index: pathInteger });
/** Another issue; in the repository of the path when owner and repository are absent. */
const otherIssue = z.object({
  index: z.int({ error: "Required" }),
  owner: optionalText(),
  repo: optionalText(),
});

export const issueDependencyEndpoints = {
  ...resource(
    {
      name: "forge.issues.dependencies",
      path: "/api/v1/repos/:owner/:repo/issues/:index/dependencies",
      params: issueParams,
      shape: issueShape,
      gate: openTo("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      },
    },
    ({ list, create, operation }) => ({
      listIssueDependencies: list(
        "The issues that must be closed before an issue, without those that you may not read",
      ),
      addIssueDependency: create("Make an issue depend on another one", otherIssue, {
        as: "add",
        refuses: [409],
      }),
      removeIssueDependency: operation({
        as: "remove",
        method: "DELETE",
        summary: "Remove a dependency of an issue",
        body: otherIssue,
        replies: { 201: issueShape },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.blocks",
      path: "/api/v1/repos/:owner/:repo/issues/:index/blocks",
      params: issueParams,
      shape: issueShape,
      gate: openTo("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      },
    },
    ({ list, create, operation }) => ({
      listBlockedIssues: list(
        "The issues that wait for an issue, without those that you may not read",
      ),
      blockIssue: create("Make another issue depend on an issue", otherIssue, {
        as: "add",
        refuses: [409],
        apiOnly: "croft issue dependency add names the two issues the other way round",
      }),
      unblockIssue: operation({
        as: "remove",
        method: "DELETE",
        summary: "Remove the dependency of another issue on an issue",
        body: otherIssue,
        replies: { 201: issueShape },
        apiOnly: "croft issue dependency remove names the two issues the other way round",
      }),
    }),
  ),
};
