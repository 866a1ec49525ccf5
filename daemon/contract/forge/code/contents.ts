import { z } from "zod";
import { anyoneWithin, bytes, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalMembers,
  optionalText,
  optionalTime,
  queryText,
  requiredText,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName } from "../repositories/rules.ts";
import {
  refusedWriteReplies,
  commitMetaShape,
  commitUserShape,
  readLimit,
  refusedReadReplies,
  verificationShape,
  writeLimit,
} from "./shapes.ts";

// Files and folders of a branch, tag or commit.

export const contentsShape = z.object({
  name: z.string(),
  path: z.string(),
  sha: z.string(),
  /** Left out of large folders when the history would have to be read for too long. */
  last_commit_sha: z.string().optional(),
  last_committer_date: wireTime.optional(),
  last_author_date: wireTime.optional(),
  type: z.enum(["file", "dir", "symlink", "submodule"]),
  size: z.int(),
  /** With the content of a single file, up to `BLOB_BYTES_MAX`; null otherwise. */
  encoding: z.string().nullable(),
  content: z.string().nullable(),
  /** The target of a symbolic link. */
  target: z.string().nullable(),
  url: z.string(),
  html_url: z.string().nullable(),
  git_url: z.string().nullable(),
  download_url: z.string().nullable(),
  submodule_git_url: z.string().nullable(),
  _links: z.object({
    self: z.string(),
    git: z.string().nullable(),
    html: z.string().nullable(),
  }),
});
export type WireContents = z.output<typeof contentsShape>;

/** Entries of a folder that one answer lists; `X-Total-Count` counts all. */
export const FOLDER_ENTRIES_MAX = 1_000;

const params = repositoryParams.extend({ filepath: z.string() });
const query = z.object({ ref: queryText });

export const getRootContents = endpoint({
  name: "forge.repos.contents.root",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/contents",
  summary: "The entries of the top folder",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query,
  paging: "total",
  replies: { 200: z.array(contentsShape), ...refusedReadReplies },
});

export const getContents = endpoint({
  name: "forge.repos.contents.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/contents/**:filepath",
  summary: "A file with its content, or the entries of a folder",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  query,
  paging: "total",
  replies: {
    200: z.union([contentsShape, z.array(contentsShape)]),
    ...refusedReadReplies,
    422: apiError,
  },
});

/** Exactly one member is set: the file, or the entries of the folder. */
const contentsExtShape = z.object({
  file_contents: contentsShape.optional(),
  dir_contents: z.array(contentsShape).optional(),
});

export type WireContentsExt = z.output<typeof contentsExtShape>;

/** Words of `includes`, separated by commas; others are ignored. */
export const CONTENT_PARTS = { content: "file_content", lastCommit: "commit_metadata" } as const;

const extension = {
  method: "GET",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  query: query.extend({ includes: queryText }),
  paging: "total",
  apiOnly: '"croft repo browse" and "croft repo cat" show folders and files',
} as const;

export const getRootContentsExt = endpoint({
  name: "forge.repos.contents_ext.root",
  path: "/api/v1/repos/:owner/:repo/contents-ext",
  summary: "The entries of the top folder, with the parts that includes names",
  ...extension,
  params: repositoryParams,
  replies: { 200: contentsExtShape, ...refusedReadReplies },
});

/** Without `includes` neither the content of a file nor the history is read, so it is fast for every folder. */
export const getContentsExt = endpoint({
  name: "forge.repos.contents_ext.get",
  path: "/api/v1/repos/:owner/:repo/contents-ext/**:filepath",
  summary: "A file or the entries of a folder, with the parts that includes names",
  ...extension,
  params,
  replies: { 200: contentsExtShape, ...refusedReadReplies, 422: apiError },
});

const BRANCH_MAX = 100;
const MESSAGE_MAX = 65_536;
const PATH_MAX = 500;
/** A body of base64; the content is three quarters of it. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** Files that one commit changes. */
const FILES_MAX = 1_000;

const branch = optionalText({ max: BRANCH_MAX, rules: [["GitRefName", isNewRefName]] });
const person = optionalMembers({
  name: optionalText({ max: 100 }),
  email: optionalText({ max: 254 }),
});

/** The members of every write that describe its commit. */
const commitMembers = {
  message: optionalText({ max: MESSAGE_MAX }),
  branch,
  new_branch: branch,
  force_push: optionalFlag,
  author: person,
  committer: person,
  dates: optionalMembers({ author: optionalTime, committer: optionalTime }),
  signoff: optionalFlag,
};
const commitBody = z.object(commitMembers);
export type CommitBody = z.output<typeof commitBody>;

const fileCommitShape = commitMetaShape.extend({
  html_url: z.string(),
  author: commitUserShape,
  committer: commitUserShape,
  parents: z.array(commitMetaShape),
  message: z.string(),
  tree: commitMetaShape,
});

const fileShape = z.object({
  content: contentsShape.nullable(),
  commit: fileCommitShape,
  verification: verificationShape,
});
export type WireFileChange = z.output<typeof fileShape>;

const filesShape = z.object({
  files: z.array(contentsShape.nullable()),
  commit: fileCommitShape,
  verification: verificationShape,
});

const write = {
  gate: forgeUser("repository"),
  limit: writeLimit,
  maxBodyBytes: BODY_BYTES_MAX,
} as const;

export const createFile = endpoint({
  name: "forge.repos.contents.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/contents/**:filepath",
  summary: "Create a file in a commit of its own",
  ...write,
  params,
  body: z.object({ ...commitMembers, content: optionalText() }),
  replies: { 201: fileShape, ...refusedWriteReplies },
  apiOnly: "people commit with git",
});

/** Without `sha` the file is created. */
export const updateFile = endpoint({
  name: "forge.repos.contents.update",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/contents/**:filepath",
  summary: "Change or move the file whose blob is sha, in a commit of its own",
  ...write,
  params,
  body: z.object({
    ...commitMembers,
    content: optionalText(),
    sha: optionalText(),
    from_path: optionalText({ max: PATH_MAX }),
  }),
  replies: { 200: fileShape, 201: fileShape, ...refusedWriteReplies },
  apiOnly: "people commit with git",
});

export const deleteFile = endpoint({
  name: "forge.repos.contents.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/contents/**:filepath",
  summary: "Delete the file whose blob is sha, in a commit of its own",
  ...write,
  params,
  body: z.object({ ...commitMembers, sha: requiredText() }),
  replies: { 200: fileShape, ...refusedWriteReplies },
  apiOnly: "people commit with git",
});

export const changeFiles = endpoint({
  name: "forge.repos.contents.change",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/contents",
  summary: "Create, update, rename and delete several files in one commit",
  ...write,
  params: repositoryParams,
  body: z.object({
    ...commitMembers,
    files: z
      .array(
        z.object({
          operation: requiredText(),
          path: requiredText({ max: PATH_MAX }),
          content: optionalText(),
          sha: optionalText(),
          from_path: optionalText({ max: PATH_MAX }),
        }),
        { error: (issue) => (issue.input == null ? "Required" : undefined) },
      )
      .max(FILES_MAX, { error: "MaxSize" }),
  }),
  replies: { 201: filesShape, ...refusedWriteReplies },
  apiOnly: "people commit several files with git",
});

export const getRawFile = endpoint({
  name: "forge.repos.raw",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/raw/**:filepath",
  summary: "The bytes of a file",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  query,
  replies: { 200: bytes, ...refusedReadReplies, 422: apiError },
});

export const getMediaFile = endpoint({
  name: "forge.repos.media",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/media/**:filepath",
  summary: "The bytes of a file, as raw: this server keeps no large files apart",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  query,
  replies: { 200: bytes, ...refusedReadReplies, 422: apiError },
  apiOnly: '"croft repo cat" prints a file',
});

export const getArchive = endpoint({
  name: "forge.repos.archive",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/archive/**:archive",
  summary: "The files of a branch, tag or commit as REF.zip or REF.tar.gz",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams.extend({ archive: z.string() }),
  replies: { 200: bytes, ...refusedReadReplies, 400: apiError },
});

export const contentsEndpoints = {
  getRootContents,
  getContents,
  getRootContentsExt,
  getContentsExt,
  createFile,
  updateFile,
  deleteFile,
  changeFiles,
  getRawFile,
  getMediaFile,
  getArchive,
};
