import { z } from "zod";
import { anyoneWithin } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  integer,
  optionalFlag,
  optionalIds,
  optionalInteger,
  optionalText,
  optionalTime,
  optionalWords,
  pathInteger,
  queryInteger,
  queryText,
  queryWord,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { teamShape } from "../accounts/orgs.ts";
import { userShape } from "../accounts/users.ts";
import { writeLimit } from "../code/shapes.ts";
import { labelShape } from "../issues/labels.ts";
import { milestoneShape } from "../issues/milestones.ts";
import { repositoryParams, repositoryShape } from "../repositories/repositories.ts";
import { isNewRefName } from "../repositories/rules.ts";
import { openTo, resource } from "../resource.ts";

/** Characters of a title, as in the reference. */
const TITLE_MAX = 255;
/** Maximum length of a text in characters. */
const TEXT_MAX = 262_144;
/** People and labels of one pull request. */
const LIST_MAX = 50;
/** Characters of the name of a branch, with those of its repository. */
const BRANCH_MAX = 1024;

/** One end of a pull request. The repository is null once it is deleted, and for callers who may not read it. */
const endShape = z.object({
  label: z.string(),
  ref: z.string(),
  sha: z.string(),
  repo_id: z.int(),
  repo: repositoryShape.nullable(),
});

/** A pull request. Only the answer about a single one has the counts of its diff. */
const pullShape = z.object({
  id: wireId,
  url: z.string(),
  number: wireId,
  user: userShape.nullable(),
  title: z.string(),
  body: z.string(),
  labels: z.array(labelShape),
  milestone: milestoneShape.nullable(),
  assignee: userShape.nullable(),
  assignees: z.array(userShape).nullable(),
  requested_reviewers: z.array(userShape).nullable(),
  requested_reviewers_teams: z.array(teamShape).nullable(),
  state: z.enum(["open", "closed"]),
  draft: z.boolean(),
  is_locked: z.boolean(),
  comments: z.int(),
  review_comments: z.int(),
  additions: z.int().optional(),
  deletions: z.int().optional(),
  changed_files: z.int().optional(),
  html_url: z.string(),
  diff_url: z.string(),
  patch_url: z.string(),
  mergeable: z.boolean(),
  merged: z.boolean(),
  merged_at: wireTime.nullable(),
  merge_commit_sha: z.string().nullable(),
  merged_by: userShape.nullable(),
  allow_maintainer_edit: z.boolean(),
  base: endShape,
  head: endShape,
  merge_base: z.string(),
  due_date: wireTime.nullable(),
  created_at: wireTime,
  updated_at: wireTime,
  closed_at: wireTime.nullable(),
  content_version: z.int(),
  pin_order: z.int(),
});
export type WirePull = z.output<typeof pullShape>;

const members = {
  body: optionalText({ max: TEXT_MAX }),
  assignee: optionalText(),
  assignees: optionalWords.refine((names) => (names?.length ?? 0) <= LIST_MAX, {
    error: "MaxSize",
  }),
  labels: optionalIds(LIST_MAX),
  milestone: integer.brand<"MilestoneId">().nullish(),
  due_date: optionalTime,
  allow_maintainer_edit: optionalFlag,
};

/** The ids of a repeated or comma-separated query value. */
const queryIds = z.preprocess(
  (value: string | readonly string[] | undefined) =>
    (typeof value === "object" ? value : [value ?? ""])
      .flatMap((text) => String(text).split(","))
      .map((text) => text.trim())
      .filter((text) => text !== ""),
  z
    .array(
      z
        .string()
        .regex(/^\d{1,15}$/, { error: "a label in a query must be its id" })
        .transform(Number),
    )
    .max(LIST_MAX),
);

const shownInView = "croft pr view shows it";

export const pullEndpoints = {
  ...resource(
    {
      name: "forge.repos.pulls",
      path: "/api/v1/repos/:owner/:repo/pulls",
      params: repositoryParams,
      id: { index: pathInteger },
      shape: pullShape,
      gate: openTo("repository"),
      on: repository("pulls", "read"),
    },
    ({ list, create, get, operation }) => ({
      listPulls: list("Pull requests of a repository, newest first", {
        filters: {
          state: queryWord(["open", "closed", "all"]),
          sort: queryWord([
            "oldest",
            "recentupdate",
            "leastupdate",
            "recentclose",
            "mostcomment",
            "leastcomment",
            "priority",
          ]),
          labels: queryIds,
          milestone: queryInteger,
          poster: queryText,
          base_branch: queryText,
        },
        refuses: [400, 422],
      }),
      createPull: create(
        "Open a pull request from a branch of the repository or of a fork",
        z.object({
          head: requiredText({ max: BRANCH_MAX }),
          base: requiredText({ max: BRANCH_MAX }),
          title: requiredText({ max: TITLE_MAX }),
          ...members,
          reviewers: optionalWords,
          team_reviewers: optionalWords,
        }),
        { refuses: [400, 409] },
      ),
      getPull: get("A pull request by its number"),
      editPull: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary: "Change a pull request or its base, close or reopen it",
        body: z.object({
          ...members,
          title: optionalText({ max: TITLE_MAX }),
          base: optionalText({ max: BRANCH_MAX }),
          state: optionalText(),
          unset_due_date: optionalFlag,
          content_version: optionalInteger,
        }),
        replies: { 201: pullShape },
        on: repository("pulls", "write", { checkedBy: "service" }),
        refuses: [409, 412],
      }),
      revertPull: operation({
        as: "revert",
        method: "POST",
        item: true,
        at: "revert",
        summary: "Open a pull request that takes the changes of a merged one back",
        body: z.object({
          branch: optionalText({ max: BRANCH_MAX, rules: [["GitRefName", isNewRefName]] }),
          title: optionalText({ max: TITLE_MAX }),
          body: optionalText({ max: TEXT_MAX }),
        }),
        replies: { 201: pullShape },
        limit: writeLimit,
        refuses: [409, 503],
      }),
      listPinnedPulls: operation({
        as: "pinned",
        method: "GET",
        at: "pinned",
        summary: "The pinned pull requests of a repository, in their order",
        replies: { 200: z.array(pullShape) },
        apiOnly: "a repository has at most three",
      }),
      getPullOfBranches: operation({
        as: "of_branches",
        method: "GET",
        at: ":base/**:head",
        summary: "The newest pull request between two branches",
        params: repositoryParams.extend({ base: z.string(), head: z.string() }),
        replies: { 200: pullShape },
        refuses: [400],
        apiOnly: shownInView,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.commits",
      path: "/api/v1/repos/:owner/:repo/commits/:sha/pull",
      params: repositoryParams.extend({ sha: z.string() }),
      shape: pullShape,
      gate: anyoneWithin("repository"),
      on: repository("pulls", "read"),
    },
    ({ get }) => ({
      getPullOfCommit: get("The pull request that a commit merged", {
        as: "pull",
        apiOnly: "scripts that walk a history need it",
      }),
    }),
  ),
};
