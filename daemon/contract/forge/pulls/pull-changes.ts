import { z } from "zod";
import { anyoneWithin, bytesOf, empty, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalQueryFlag, pathInteger, queryFlag, queryWord } from "../common.ts";
import { commitShape, readLimit, whitespace, writeLimit } from "../code/shapes.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { resource } from "../resource.ts";

const plainText = "text/plain; charset=utf-8";

/** A file that a pull request changes. */
const changedFileShape = z.object({
  filename: z.string(),
  /** Set for a renamed or copied file. */
  previous_filename: z.string().optional(),
  status: z.enum(["added", "deleted", "changed", "renamed", "copied", "unchanged"]),
  additions: z.int(),
  deletions: z.int(),
  changes: z.int(),
  html_url: z.string(),
  contents_url: z.string(),
  raw_url: z.string(),
});
export type WireChangedFile = z.output<typeof changedFileShape>;

const base = {
  name: "forge.repos.pulls",
  path: "/api/v1/repos/:owner/:repo/pulls",
  params: repositoryParams.extend({ index: pathInteger }),
  gate: anyoneWithin("repository"),
  on: repository("pulls", "read"),
  limit: readLimit,
  refuses: [503],
} as const;

const readsAsText = "git fetch origin refs/pull/NUMBER/head gets the same commits";

export const pullChangeEndpoints = {
  ...resource({ ...base, path: `${base.path}/:index/commits`, shape: commitShape }, ({ list }) => ({
    /** Besides the usual headers: `X-Page`, `X-PerPage`, `X-Total`, `X-PageCount` and `X-HasMore`. */
    listPullCommits: list("The commits of a pull request, newest first", {
      as: "commits",
      filters: { files: optionalQueryFlag, verification: optionalQueryFlag },
      apiOnly: readsAsText,
    }),
  })),
  ...resource(
    { ...base, path: `${base.path}/:index/files`, shape: changedFileShape },
    ({ list }) => ({
      /** Besides the usual headers: `X-Page`, `X-PerPage`, `X-Total`, `X-PageCount` and `X-HasMore`. */
      listPullFiles: list("The files that a pull request changes, by path", {
        as: "files",
        filters: { whitespace },
      }),
    }),
  ),
  ...resource(base, ({ operation }) => ({
    getPullDiff: operation({
      as: "diff",
      method: "GET",
      at: ":index.diff",
      summary: "The changes of a pull request as a diff",
      query: z.object({ binary: queryFlag, whitespace }),
      replies: { 200: bytesOf(plainText) },
    }),
    updatePull: operation({
      as: "update",
      method: "POST",
      at: ":index/update",
      summary: "Bring the commits of the base into the head of a pull request",
      query: z.object({ style: queryWord(["merge", "rebase"]) }),
      replies: { 200: empty },
      gate: forgeUser("repository"),
      limit: writeLimit,
      refuses: [409, 422],
    }),
    getPullPatch: operation({
      as: "patch",
      method: "GET",
      at: ":index.patch",
      summary: "The commits of a pull request as patches that git am takes, the oldest first",
      replies: { 200: bytesOf(plainText) },
    }),
  })),
};
