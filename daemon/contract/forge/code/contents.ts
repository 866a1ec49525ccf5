import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, bytes, forgeUser } from "../../endpoint.ts";
import {
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
  commitMetaShape,
  commitUserShape,
  readLimit,
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
  /** The first line of the message of that commit, when `includes` names it. */
  last_commit_message: z.string().optional(),
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

/** Exactly one member is set: the file, or the entries of the folder. */
const contentsExtShape = z.object({
  file_contents: contentsShape.optional(),
  dir_contents: z.array(contentsShape).optional(),
});

export type WireContentsExt = z.output<typeof contentsExtShape>;

/** Words of `includes`, separated by commas; others are ignored. */
export const CONTENT_PARTS = {
  content: "file_content",
  lastCommit: "commit_metadata",
  message: "commit_message",
} as const;

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

export const contentsEndpoints = {
  ...resource(
    {
      name: "forge.repos.contents",
      path: "/api/v1/repos/:owner/:repo/contents",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ operation }) => ({
      getRootContents: operation({
        as: "root",
        method: "GET",
        summary: "The entries of the top folder",
        query,
        paging: "total",
        replies: { 200: z.array(contentsShape) },
      }),
      getContents: operation({
        as: "get",
        method: "GET",
        at: "**:filepath",
        summary: "A file with its content, or the entries of a folder",
        params,
        query,
        paging: "total",
        replies: { 200: z.union([contentsShape, z.array(contentsShape)]) },
        refuses: [422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.contents_ext",
      path: "/api/v1/repos/:owner/:repo/contents-ext",
      params: repositoryParams,
      shape: contentsExtShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ get, operation }) => ({
      getRootContentsExt: get("The entries of the top folder, with the parts that includes names", {
        as: "root",
        query: query.extend({ includes: queryText }),
        paging: "total",
        apiOnly: '"croft repo browse" and "croft repo cat" show folders and files',
      }),
      /** Without `includes` neither the content of a file nor the history is read, so it is fast for every folder. */
      getContentsExt: operation({
        as: "get",
        method: "GET",
        at: "**:filepath",
        summary: "A file or the entries of a folder, with the parts that includes names",
        params,
        query: query.extend({ includes: queryText }),
        paging: "total",
        replies: { 200: contentsExtShape },
        refuses: [422],
        apiOnly: '"croft repo browse" and "croft repo cat" show folders and files',
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.contents",
      path: "/api/v1/repos/:owner/:repo/contents",
      params: repositoryParams,
      shape: filesShape,
      gate: forgeUser("repository"),
      // The branch may be the head of a pull request that the caller may edit.
      on: repository("code", "write", { checkedBy: "service" }),
      limit: writeLimit,
      refuses: [409, 503],
    },
    ({ create, operation }) => ({
      createFile: operation({
        as: "create",
        method: "POST",
        at: "**:filepath",
        summary: "Create a file in a commit of its own",
        params,
        body: z.object({ ...commitMembers, content: optionalText() }),
        replies: { 201: fileShape },
        maxBodyBytes: BODY_BYTES_MAX,
        apiOnly: "people commit with git",
      }),
      /** Without `sha` the file is created. */
      updateFile: operation({
        as: "update",
        method: "PUT",
        at: "**:filepath",
        summary: "Change or move the file whose blob is sha, in a commit of its own",
        params,
        body: z.object({
          ...commitMembers,
          content: optionalText(),
          sha: optionalText(),
          from_path: optionalText({ max: PATH_MAX }),
        }),
        replies: { 200: fileShape, 201: fileShape },
        maxBodyBytes: BODY_BYTES_MAX,
        apiOnly: "people commit with git",
      }),
      deleteFile: operation({
        as: "delete",
        method: "DELETE",
        at: "**:filepath",
        summary: "Delete the file whose blob is sha, in a commit of its own",
        params,
        body: z.object({ ...commitMembers, sha: requiredText() }),
        replies: { 200: fileShape },
        maxBodyBytes: BODY_BYTES_MAX,
        apiOnly: "people commit with git",
      }),
      changeFiles: create(
        "Create, update, rename and delete several files in one commit",
        z.object({
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
        {
          as: "change",
          maxBodyBytes: BODY_BYTES_MAX,
          apiOnly: "people commit several files with git",
        },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/diffpatch",
      params: repositoryParams,
      gate: forgeUser("repository"),
      on: repository("code", "write"),
      limit: writeLimit,
      refuses: [409, 503],
    },
    ({ operation }) => ({
      applyPatch: operation({
        as: "apply_patch",
        method: "POST",
        summary: "Apply a patch, as git diff prints it, in a commit of its own",
        body: z.object({ ...commitMembers, content: requiredText(), sha: optionalText() }),
        replies: { 201: fileShape },
        maxBodyBytes: BODY_BYTES_MAX,
        apiOnly: "people apply patches with git",
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/raw/**:filepath",
      params,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ operation }) => ({
      getRawFile: operation({
        as: "raw",
        method: "GET",
        summary: "The bytes of a file",
        query,
        replies: { 200: bytes },
        refuses: [422, 503],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/media/**:filepath",
      params,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ operation }) => ({
      getMediaFile: operation({
        as: "media",
        method: "GET",
        summary: "The bytes of a file; of a Git LFS pointer, those of the file that it names",
        query,
        replies: { 200: bytes },
        refuses: [422, 503],
        apiOnly: '"croft repo cat" prints a file',
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/archive/**:archive",
      params: repositoryParams.extend({ archive: z.string() }),
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ operation }) => ({
      getArchive: operation({
        as: "archive",
        method: "GET",
        summary: "The files of a branch, tag or commit as REF.zip or REF.tar.gz",
        replies: { 200: bytes },
        refuses: [400, 503],
      }),
    }),
  ),
};
