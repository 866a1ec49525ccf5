import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin } from "../../endpoint.ts";
import { queryFlag, queryInteger } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { readLimit, shaParams } from "./shapes.ts";

// Git's own objects: refs, trees and blobs.

const referenceShape = z.object({
  ref: z.string(),
  url: z.string(),
  object: z.object({ type: z.string(), sha: z.string(), url: z.string() }),
});
export type WireReference = z.output<typeof referenceShape>;

/** Refs that one answer lists; `X-Total-Count` counts all. */
export const REFS_MAX = 5_000;

const treeEntryShape = z.object({
  path: z.string(),
  mode: z.string(),
  type: z.enum(["blob", "tree", "commit"]),
  size: z.int(),
  sha: z.string(),
  url: z.string(),
});

const treeShape = z.object({
  sha: z.string(),
  url: z.string(),
  tree: z.array(treeEntryShape).nullable(),
  truncated: z.boolean(),
  page: z.int(),
  total_count: z.int(),
});
export type WireTree = z.output<typeof treeShape>;

export const TREE_PAGE_MAX = 1_000;

const blobShape = z.object({
  /** Null when the blob is larger than `BLOB_BYTES_MAX`. */
  content: z.string().nullable(),
  encoding: z.string().nullable(),
  url: z.string(),
  sha: z.string(),
  size: z.int(),
});
export type WireBlob = z.output<typeof blobShape>;

/** The largest blob, in bytes, whose content is included in a JSON response. Larger ones are read with `raw`. */
export const BLOB_BYTES_MAX = 10 * 1024 * 1024;

export const objectEndpoints = {
  ...resource(
    {
      name: "forge.repos.git.refs",
      path: "/api/v1/repos/:owner/:repo/git/refs",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      listGitRefs: operation({
        as: "list",
        method: "GET",
        summary: "Every ref of a repository, by name",
        paging: "total",
        replies: { 200: z.array(referenceShape) },
        apiOnly: "people list branches and tags",
      }),
      /** One ref as an object when `ref` is its whole name, else a list of those that begin with it. */
      getGitRefs: operation({
        as: "get",
        method: "GET",
        at: "**:ref",
        summary: "The refs whose names begin as given, such as heads or tags/v1",
        params: repositoryParams.extend({ ref: z.string() }),
        paging: "total",
        replies: { 200: z.union([referenceShape, z.array(referenceShape)]) },
        apiOnly: "people list branches and tags",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.git.trees",
      path: "/api/v1/repos/:owner/:repo/git/trees/**:sha",
      params: shaParams,
      shape: treeShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ get }) => ({
      getTree: get("A page of the entries of a tree: that of a branch, tag, commit or tree id", {
        query: z.object({ recursive: queryFlag, page: queryInteger, per_page: queryInteger }),
        refuses: [400, 503],
        apiOnly: '"croft repo browse" lists a folder',
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.git.blobs",
      path: "/api/v1/repos/:owner/:repo/git/blobs/:sha",
      params: shaParams,
      shape: blobShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ get }) => ({
      getBlob: get("A blob by id, in base64", {
        refuses: [400, 503],
        apiOnly: '"croft repo cat" prints a file by its path',
      }),
    }),
  ),
};
