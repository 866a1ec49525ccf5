import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin } from "../../endpoint.ts";
import { paging, queryText, trimmedQueryText, wireTime } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { readLimit } from "./shapes.ts";

// What people look up in code beyond its files and commits: who wrote a line, where a text or a file is, who contributes,
// and how far branches have diverged. Croft's own: Gitea has these on pages only.

const blameShape = z.object({
  commits: z.array(
    z.object({
      sha: z.string(),
      author: z.object({ name: z.string(), email: z.string(), date: wireTime }),
      summary: z.string(),
    }),
  ),
  /** Neighbouring lines that one commit wrote last, in the order of the file. */
  parts: z.array(
    z.object({
      sha: z.string(),
      first_line: z.int(),
      lines: z.int(),
      /** The file before that commit; null where the commit created it. */
      previous: z.object({ sha: z.string(), path: z.string() }).nullable(),
    }),
  ),
});

const codeMatchShape = z.object({
  path: z.string(),
  lines: z.array(z.object({ number: z.int(), text: z.string() })),
});

/** Files that one search of code returns. */
export const CODE_MATCHES_MAX = 50;
/** Longest text that code and the paths of files are searched for. */
export const CODE_TEXT_MAX = 200;
/** Branches, and tags, of one list of names. */
export const REF_NAMES_MAX = 20;
/** Paths that one search of files returns. */
export const FOUND_FILES_MAX = 100;

const base = {
  params: repositoryParams,
  gate: anyoneWithin("repository"),
  on: repository("code", "read"),
  limit: readLimit,
  refuses: [503],
} as const;

export const browsingEndpoints = {
  ...resource(
    { ...base, name: "forge.repos", path: "/api/v1/repos/:owner/:repo/blame/**:filepath" },
    ({ operation }) => ({
      getBlame: operation({
        as: "blame",
        method: "GET",
        summary: "The commit that last changed each line of a file",
        params: repositoryParams.extend({ filepath: z.string() }),
        query: z.object({ ref: queryText }),
        replies: { 200: blameShape },
        refuses: [422],
        apiOnly: "git blame shows it in a clone",
      }),
    }),
  ),
  ...resource(
    { ...base, name: "forge.repos.code", path: "/api/v1/repos/:owner/:repo/code-search" },
    ({ operation }) => ({
      /** Searches text files, in any letter case. `truncated`: a limit on files or time ended the search. */
      searchCode: operation({
        as: "search",
        method: "GET",
        summary: "The lines of a branch, tag or commit that contain a text",
        query: z.object({
          ref: queryText,
          q: trimmedQueryText.pipe(
            z
              .string()
              .min(1, "q must be a text")
              .max(CODE_TEXT_MAX)
              // Git takes a line break as the end of a text, and the system no NUL in an argument.
              // oxlint-disable-next-line no-control-regex -- refuses control characters
              .regex(/^[^\u0000\r\n]*$/, "q must be a text of one line"),
          ),
        }),
        replies: { 200: z.object({ matches: z.array(codeMatchShape), truncated: z.boolean() }) },
      }),
    }),
  ),
  ...resource(
    { ...base, name: "forge.repos.code", path: "/api/v1/repos/:owner/:repo/file-names" },
    ({ operation }) => ({
      /** Paths that contain every word of `q`, the best first. `truncated`: the revision has too many files to list all. */
      findFiles: operation({
        as: "find",
        method: "GET",
        summary: "The paths of files of a branch, tag or commit",
        query: z.object({
          ref: queryText,
          q: trimmedQueryText.pipe(z.string().max(CODE_TEXT_MAX)),
        }),
        paging: "total",
        replies: { 200: z.object({ files: z.array(z.string()), truncated: z.boolean() }) },
        apiOnly: "git ls-files lists them in a clone",
      }),
    }),
  ),
  ...resource(
    { ...base, name: "forge.repos.contributors", path: "/api/v1/repos/:owner/:repo/contributors" },
    ({ operation }) => ({
      listContributors: operation({
        as: "list",
        method: "GET",
        summary: "The authors of the commits of a branch, tag or commit, the most active first",
        query: z.object({ ref: queryText, ...paging }),
        paging: "link_and_total",
        replies: {
          200: z.array(
            z.object({
              name: z.string(),
              email: z.string(),
              commits: z.int(),
              /** The account that has verified the address. */
              user: userShape.nullable(),
            }),
          ),
        },
        apiOnly: "git shortlog shows them in a clone",
      }),
    }),
  ),
  ...resource(
    { ...base, name: "forge.repos.git.refs", path: "/api/v1/repos/:owner/:repo/ref-names" },
    ({ operation }) => ({
      listRefNames: operation({
        as: "names",
        method: "GET",
        summary: `The ${REF_NAMES_MAX} newest branches and tags, by name`,
        replies: { 200: z.object({ branches: z.array(z.string()), tags: z.array(z.string()) }) },
        apiOnly: '"croft repo branch list" lists branches, "croft repo tag list" tags',
      }),
    }),
  ),
  ...resource(
    { ...base, name: "forge.repos.branches", path: "/api/v1/repos/:owner/:repo/branch-divergence" },
    ({ operation }) => ({
      /** The branches of the same page of the list of branches. The counts are null where they take too long. */
      listDivergence: operation({
        as: "divergence",
        method: "GET",
        summary: "How many commits branches are ahead of the default branch and behind it",
        query: z.object({ q: queryText, ...paging }),
        paging: "link_and_total",
        replies: {
          200: z.array(
            z.object({
              name: z.string(),
              ahead: z.int().nullable(),
              behind: z.int().nullable(),
            }),
          ),
        },
        apiOnly: "git rev-list --left-right --count shows it in a clone",
      }),
    }),
  ),
};
