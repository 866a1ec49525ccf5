import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { optionalText, paging, requiredText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName } from "../repositories/rules.ts";
import {
  refusedWriteReplies,
  commitMetaShape,
  commitUserShape,
  readLimit,
  refusedReadReplies,
  shaParams,
  verificationShape,
  writeLimit,
} from "./shapes.ts";

const NAME_MAX = 200;
const MESSAGE_MAX = 65_536;
const params = repositoryParams.extend({ tag: z.string() });

const tagShape = z.object({
  name: z.string(),
  /** Of an annotated tag; of the commit for a lightweight one. */
  message: z.string(),
  /** The annotated tag, or the commit. */
  id: z.string(),
  commit: commitMetaShape,
  zipball_url: z.string(),
  tarball_url: z.string(),
});
export type WireTag = z.output<typeof tagShape>;

export const listTags = endpoint({
  name: "forge.repos.tags.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/tags",
  summary: "The tags of a repository, newest first",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(tagShape), ...refusedReadReplies },
});

export const getTag = endpoint({
  name: "forge.repos.tags.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/tags/**:tag",
  summary: "A tag by name",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params,
  replies: { 200: tagShape, ...refusedReadReplies },
});

export const createTag = endpoint({
  name: "forge.repos.tags.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/tags",
  summary: "Create a tag; an annotated one if it has a message",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params: repositoryParams,
  body: z.object({
    tag_name: requiredText({ max: NAME_MAX, rules: [["GitRefName", isNewRefName]] }),
    message: optionalText({ max: MESSAGE_MAX }),
    target: optionalText({ max: NAME_MAX }),
  }),
  replies: { 201: tagShape, ...refusedWriteReplies },
});

export const deleteTag = endpoint({
  name: "forge.repos.tags.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/tags/**:tag",
  summary: "Delete a tag",
  gate: forgeUser("repository"),
  limit: writeLimit,
  params,
  replies: { 204: empty, ...refusedWriteReplies },
});

const annotatedTagShape = z.object({
  tag: z.string(),
  sha: z.string(),
  url: z.string(),
  message: z.string(),
  tagger: commitUserShape.nullable(),
  object: z.object({ type: z.string(), url: z.string(), sha: z.string() }),
  verification: verificationShape.nullable(),
});
export type WireAnnotatedTag = z.output<typeof annotatedTagShape>;

export const getAnnotatedTag = endpoint({
  name: "forge.repos.git.tags.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/git/tags/:sha",
  summary: "An annotated tag by its object id",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: shaParams,
  replies: { 200: annotatedTagShape, ...refusedReadReplies },
  apiOnly: '"croft repo tag view" shows a tag by name',
});

export const tagEndpoints = { listTags, getTag, createTag, deleteTag, getAnnotatedTag };
