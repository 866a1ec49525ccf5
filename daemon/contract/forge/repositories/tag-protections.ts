import { z } from "zod";
import { resource } from "../resource.ts";
import { forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalText, optionalWords, pathInteger, wireId, wireTime } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

const PATTERN_MAX = 255;

const tagProtectionShape = z.object({
  id: wireId,
  /** A glob, or a regular expression between slashes. */
  name_pattern: z.string(),
  whitelist_usernames: z.array(z.string()),
  whitelist_teams: z.array(z.string()),
  created_at: wireTime,
  updated_at: wireTime,
});
export type WireTagProtection = z.output<typeof tagProtectionShape>;

const body = z.object({
  name_pattern: optionalText({ max: PATTERN_MAX }),
  whitelist_usernames: optionalWords,
  whitelist_teams: optionalWords,
});
export type TagProtectionEdit = z.output<typeof body>;

/** Rules that protect tags: only listed users and teams create, move and delete those that match. */
export const tagProtectionEndpoints = resource(
  {
    name: "forge.repos.tag_protections",
    path: "/api/v1/repos/:owner/:repo/tag_protections",
    params: repositoryParams,
    id: { id: pathInteger },
    shape: tagProtectionShape,
    gate: forgeUser("repository"),
    on: repository("code", "admin", { evenOff: true }),
  },
  ({ get, create, edit, remove, operation }) => ({
    listTagProtections: operation({
      as: "list",
      method: "GET",
      summary: "The rules that protect tags",
      replies: { 200: z.array(tagProtectionShape) },
    }),
    getTagProtection: get("A rule that protects tags"),
    createTagProtection: create(
      "Let only these users and teams create, move and delete the tags that match",
      body,
      { refuses: [400] },
    ),
    editTagProtection: edit("Change a rule; members that are absent stay", body, {
      refuses: [400],
    }),
    deleteTagProtection: remove("Remove a rule"),
  }),
);
