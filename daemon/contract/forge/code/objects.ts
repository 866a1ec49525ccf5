import { z } from "zod";
import { anyoneWithin, endpoint } from "../../endpoint.ts";
import { apiError, queryFlag, queryInteger } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { readLimit, refusedReadReplies, shaParams } from "./shapes.ts";

// Git's own objects: refs, trees and blobs.

const referenceShape = z.object({
  ref: z.string(),
  url: z.string(),
  object: z.object({ type: z.string(), sha: z.string(), url: z.string() }),
});
export type WireReference = z.output<typeof referenceShape>;

/** Refs that one answer lists; `X-Total-Count` counts all. */
export const REFS_MAX = 5_000;

export const listGitRefs = endpoint({
  name: "forge.repos.git.refs.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/refs",
  summary: "Every ref of a repository, by name",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  paging: "total",
  replies: { 200: z.array(referenceShape), ...refusedReadReplies },
  apiOnly: "people list branches and tags",
});

/** One ref as an object when `ref` is its whole name, else a list of those that begin with it. */
export const getGitRefs = endpoint({
  name: "forge.repos.git.refs.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/refs/**:ref",
  summary: "The refs whose names begin as given, such as heads or tags/v1",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams.extend({ ref: z.string() }),
  paging: "total",
  replies: {
    200: z.union([referenceShape, z.array(referenceShape)]),
    ...refusedReadReplies,
  },
  apiOnly: "people list branches and tags",
});

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

export const getTree = endpoint({
  name: "forge.repos.git.trees.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/trees/**:sha",
  summary: "A page of the entries of a tree: that of a branch, tag, commit or tree id",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  query: z.object({ recursive: queryFlag, page: queryInteger, per_page: queryInteger }),
  replies: { 200: treeShape, ...refusedReadReplies, 400: apiError },
  apiOnly: '"croft repo browse" lists a folder',
});

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

export const getBlob = endpoint({
  name: "forge.repos.git.blobs.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/blobs/:sha",
  summary: "A blob by id, in base64",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  replies: { 200: blobShape, ...refusedReadReplies, 400: apiError },
  apiOnly: '"croft repo cat" prints a file by its path',
});

export const objectEndpoints = { listGitRefs, getGitRefs, getTree, getBlob };
