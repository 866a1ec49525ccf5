import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin, empty } from "../../endpoint.ts";
import { optionalText, requiredText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName } from "../repositories/rules.ts";
import {
  commitMetaShape,
  commitUserShape,
  readLimit,
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

export const tagEndpoints = {
  ...resource(
    {
      name: "forge.repos.tags",
      path: "/api/v1/repos/:owner/:repo/tags",
      params: repositoryParams,
      shape: tagShape,
      gate: openTo("repository"),
      on: { read: repository("code", "read"), change: repository("code", "write") },
      refuses: [503],
    },
    ({ list, create, operation }) => ({
      listTags: list("The tags of a repository, newest first", { limit: readLimit }),
      getTag: operation({
        as: "get",
        method: "GET",
        at: "**:tag",
        summary: "A tag by name",
        params,
        replies: { 200: tagShape },
        limit: readLimit,
      }),
      createTag: create(
        "Create a tag; an annotated one if it has a message",
        z.object({
          tag_name: requiredText({ max: NAME_MAX, rules: [["GitRefName", isNewRefName]] }),
          message: optionalText({ max: MESSAGE_MAX }),
          target: optionalText({ max: NAME_MAX }),
        }),
        { limit: writeLimit, refuses: [409] },
      ),
      deleteTag: operation({
        as: "delete",
        method: "DELETE",
        at: "**:tag",
        summary: "Delete a tag",
        params,
        replies: { 204: empty },
        limit: writeLimit,
        refuses: [409, 422],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.git.tags",
      path: "/api/v1/repos/:owner/:repo/git/tags/:sha",
      params: shaParams,
      shape: annotatedTagShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ get }) => ({
      getAnnotatedTag: get("An annotated tag by its object id", {
        refuses: [503],
        apiOnly: '"croft repo tag view" shows a tag by name',
      }),
    }),
  ),
};
