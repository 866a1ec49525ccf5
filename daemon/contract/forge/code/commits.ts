import { z } from "zod";
import { anyoneWithin, bytesOf, endpoint, jsonOrBytes } from "../../endpoint.ts";
import { apiError, optionalQueryFlag, paging, queryText, queryWord } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { commitShape, readLimit, refusedReadReplies, shaParams } from "./shapes.ts";

/** Parts of a commit that a request may leave out; each is included by default. */
const parts = {
  stat: optionalQueryFlag,
  files: optionalQueryFlag,
  verification: optionalQueryFlag,
};

/** Besides the usual headers: `X-Page`, `X-PerPage`, `X-Total`, `X-PageCount` and `X-HasMore`. 409: there are no commits yet. */
export const listCommits = endpoint({
  name: "forge.repos.commits.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/commits",
  summary:
    "The commits of a branch, tag or commit, newest first; those that change a path if it is given",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query: z.object({
    sha: queryText,
    path: queryText,
    not: queryText,
    since: queryText,
    until: queryText,
    ...parts,
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(commitShape), ...refusedReadReplies, 409: apiError, 422: apiError },
});

export const getCommit = endpoint({
  name: "forge.repos.git.commits.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/commits/:sha",
  summary: "A commit by id, branch or tag",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  query: z.object(parts),
  replies: { 200: commitShape, ...refusedReadReplies, 422: apiError },
});

const plainText = "text/plain; charset=utf-8";

export const getCommitDiff = endpoint({
  name: "forge.repos.git.commits.diff",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/commits/:sha.diff",
  summary: "The changes of a commit as a diff",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  replies: { 200: bytesOf(plainText), ...refusedReadReplies },
});

export const getCommitPatch = endpoint({
  name: "forge.repos.git.commits.patch",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/commits/:sha.patch",
  summary: "A commit as a patch that git am takes",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  replies: { 200: bytesOf(plainText), ...refusedReadReplies },
});

/** Commits that one comparison lists, newest first; the total counts all. */
export const COMPARED_COMMITS_MAX = 250;

export const compare = endpoint({
  name: "forge.repos.compare",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/compare/**:basehead",
  summary:
    "The commits of the second of two branches, tags or commits that the first lacks, or their diff",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams.extend({ basehead: z.string() }),
  query: z.object({
    output: queryWord(["diff", "patch"]),
    files: optionalQueryFlag,
    verification: optionalQueryFlag,
  }),
  replies: {
    200: jsonOrBytes(
      z.object({ total_commits: z.int(), commits: z.array(commitShape) }),
      plainText,
    ),
    ...refusedReadReplies,
  },
});

export const commitEndpoints = { listCommits, getCommit, getCommitDiff, getCommitPatch, compare };
