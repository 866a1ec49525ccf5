import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, bytesOf, jsonOrBytes } from "../../endpoint.ts";
import { fittingAnyText, optionalQueryFlag, queryText, queryWord } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { commitShape, readLimit, shaParams, whitespace } from "./shapes.ts";

/** Parts of a commit that a request may leave out; each is included by default. */
const parts = {
  stat: optionalQueryFlag,
  files: optionalQueryFlag,
  verification: optionalQueryFlag,
};

const plainText = "text/plain; charset=utf-8";

/** Commits that one comparison lists, newest first; the total counts all. */
export const COMPARED_COMMITS_MAX = 250;

export const commitEndpoints = {
  ...resource(
    {
      name: "forge.repos.commits",
      path: "/api/v1/repos/:owner/:repo/commits",
      params: repositoryParams,
      shape: commitShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ list }) => ({
      /** Besides the usual headers: `X-Page`, `X-PerPage`, `X-Total`, `X-PageCount` and `X-HasMore`. 409: there are no commits yet. */
      listCommits: list(
        "The commits of a branch, tag or commit, newest first; those that change a path if it is given",
        {
          filters: {
            sha: queryText,
            path: queryText,
            not: queryText,
            since: queryText,
            until: queryText,
            ...parts,
          },
          refuses: [409, 422, 503],
        },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.git.commits",
      path: "/api/v1/repos/:owner/:repo/git/commits",
      params: shaParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      getCommit: operation({
        as: "get",
        method: "GET",
        at: ":sha",
        summary: "A commit by id, branch or tag",
        query: z.object(parts),
        replies: { 200: commitShape },
      }),
      getCommitDiff: operation({
        as: "diff",
        method: "GET",
        at: ":sha.diff",
        summary: "The changes of a commit as a diff",
        query: z.object({ whitespace }),
        replies: { 200: bytesOf(plainText) },
      }),
      getCommitPatch: operation({
        as: "patch",
        method: "GET",
        at: ":sha.patch",
        summary: "A commit as a patch that git am takes",
        replies: { 200: bytesOf(plainText) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/compare/**:basehead",
      params: repositoryParams.extend({ basehead: z.string() }),
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ operation }) => ({
      compare: operation({
        as: "compare",
        method: "GET",
        summary:
          "The commits of the second of two branches, tags or commits that the first lacks, or their diff",
        query: z.object({
          output: fittingAnyText(queryWord(["diff", "patch"])),
          whitespace,
          files: optionalQueryFlag,
          verification: optionalQueryFlag,
        }),
        replies: {
          200: jsonOrBytes(
            z.object({ total_commits: z.int(), commits: z.array(commitShape) }),
            plainText,
          ),
        },
        refuses: [503],
      }),
    }),
  ),
};
