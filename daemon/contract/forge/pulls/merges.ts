import { z } from "zod";
import { empty } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalFlag, optionalText, pathInteger, requiredText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { openTo, resource } from "../resource.ts";

const mergeStyles = [
  "merge",
  "rebase",
  "rebase-merge",
  "squash",
  "fast-forward-only",
  "manually-merged",
] as const;
type MergeStyle = (typeof mergeStyles)[number];

const isStyle = (word: string): word is MergeStyle =>
  (mergeStyles as readonly string[]).includes(word);

/** Maximum length of a title and of a text in characters. */
const TITLE_MAX = 1_024;
const TEXT_MAX = 65_536;
const COMMIT_MAX = 64;

/** Older clients write the members in the second form. */
const mergeBody = z.object({
  do: requiredText({ rules: [["In", isStyle]] }).transform((word) =>
    isStyle(word) ? word : "merge",
  ),
  merge_title_field: optionalText({ max: TITLE_MAX }),
  MergeTitleField: optionalText({ max: TITLE_MAX }),
  merge_message_field: optionalText({ max: TEXT_MAX }),
  MergeMessageField: optionalText({ max: TEXT_MAX }),
  merge_commit_id: optionalText({ max: COMMIT_MAX }),
  MergeCommitID: optionalText({ max: COMMIT_MAX }),
  head_commit_id: optionalText({ max: COMMIT_MAX }),
  force_merge: optionalFlag,
  merge_when_checks_succeed: optionalFlag,
  delete_branch_after_merge: optionalFlag,
});
export type MergeBody = z.output<typeof mergeBody>;

export const mergeEndpoints = resource(
  {
    name: "forge.repos.pulls.merge",
    path: "/api/v1/repos/:owner/:repo/pulls/:index/merge",
    params: repositoryParams.extend({ index: pathInteger }),
    gate: openTo("repository"),
    on: repository("pulls", "read"),
  },
  ({ operation }) => ({
    getMerge: operation({
      as: "get",
      method: "GET",
      summary: "Whether a pull request is merged: 204, or else 404",
      replies: { 204: empty },
      apiOnly: "croft pr view shows it",
    }),
    createMerge: operation({
      as: "create",
      method: "POST",
      summary: "Merge a pull request, or schedule that for when its checks succeed (201)",
      body: mergeBody,
      replies: { 200: empty, 201: empty },
      refuses: [405, 409, 503],
    }),
    deleteMerge: operation({
      as: "delete",
      method: "DELETE",
      summary: "Cancel a scheduled merge",
      replies: { 204: empty },
    }),
  }),
);
