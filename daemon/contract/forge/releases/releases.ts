import { z } from "zod";
import { repository } from "../../permission.ts";
import { userShape } from "../accounts/users.ts";
import {
  optionalFlag,
  optionalQueryFlag,
  optionalText,
  pathInteger,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { empty } from "../../endpoint.ts";
import { attachmentShape } from "../issues/attachments.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { isNewRefName } from "../repositories/rules.ts";
import { openTo, resource } from "../resource.ts";

const TITLE_MAX = 255;
const NOTES_MAX = 262_144;
const TAG_MESSAGE_MAX = 65_536;
const REF_MAX = 255;

/** A file of a release. */
export const releaseAssetShape = attachmentShape.extend({
  /** `sha256:` and the SHA-256 in hex, as GitHub has it; null for a link. */
  digest: z.string().nullable(),
});
export type WireReleaseAsset = z.output<typeof releaseAssetShape>;

const releaseShape = z.object({
  id: wireId,
  tag_name: z.string(),
  /** As it was given, or the default branch of that time. */
  target_commitish: z.string(),
  name: z.string(),
  body: z.string(),
  url: z.string(),
  html_url: z.string(),
  tarball_url: z.string(),
  zipball_url: z.string(),
  upload_url: z.string(),
  draft: z.boolean(),
  prerelease: z.boolean(),
  created_at: wireTime,
  /** Of a draft: when it was created. */
  published_at: wireTime,
  author: userShape,
  assets: z.array(releaseAssetShape),
});
export type WireRelease = z.output<typeof releaseShape>;

const tagRules = { max: REF_MAX, rules: [["GitRefName", isNewRefName]] } as const;
const fields = {
  target_commitish: optionalText({ max: REF_MAX }),
  name: optionalText({ max: TITLE_MAX }),
  body: optionalText({ max: NOTES_MAX }),
  draft: optionalFlag,
  prerelease: optionalFlag,
};
const tagParams = repositoryParams.extend({ tag: z.string() });

export const releaseEndpoints = resource(
  {
    name: "forge.repos.releases",
    path: "/api/v1/repos/:owner/:repo/releases",
    params: repositoryParams,
    id: { id: pathInteger },
    shape: releaseShape,
    gate: openTo("repository"),
    on: { read: repository("releases", "read"), change: repository("releases", "write") },
  },
  ({ list, create, get, edit, remove, operation }) => ({
    listReleases: list("Releases of a repository, newest first; drafts for those who may write", {
      filters: { draft: optionalQueryFlag, "pre-release": optionalQueryFlag },
    }),
    createRelease: create(
      "Create a release, and its tag at the target unless the tag exists",
      z.object({
        tag_name: requiredText(tagRules),
        tag_message: optionalText({ max: TAG_MESSAGE_MAX }),
        ...fields,
      }),
      { refuses: [409, 503] },
    ),
    getRelease: get("A release by its id", { apiOnly: "people name a release by its tag" }),
    editRelease: edit(
      "Change or publish a release; empty texts count as absent",
      z.object({ tag_name: optionalText(tagRules), ...fields }),
      { refuses: [409, 503] },
    ),
    deleteRelease: remove("Delete a release with its files; its tag stays"),
    getLatestRelease: operation({
      as: "latest",
      method: "GET",
      at: "latest",
      summary: "The newest release that is neither a draft nor a prerelease",
      replies: { 200: releaseShape },
    }),
    getReleaseByTag: operation({
      as: "by_tag",
      method: "GET",
      at: "tags/**:tag",
      params: tagParams,
      summary: "The release of a tag",
      replies: { 200: releaseShape },
    }),
    deleteReleaseByTag: operation({
      as: "delete_by_tag",
      method: "DELETE",
      at: "tags/**:tag",
      params: tagParams,
      summary: "Delete the release of a tag with its files; the tag stays",
      replies: { 204: empty },
      apiOnly: '"croft release delete" deletes a release by its id',
    }),
    /** As GitHub's operation of this address. */
    generateReleaseNotes: operation({
      as: "generate_notes",
      method: "POST",
      at: "generate-notes",
      summary:
        "Notes for a release: the issues closed and pull requests merged since the previous one, by label",
      body: z.object({
        tag_name: requiredText(tagRules),
        previous_tag_name: optionalText({ max: REF_MAX }),
      }),
      replies: { 200: z.object({ name: z.string(), body: z.string() }) },
      onlyReads: true,
    }),
  }),
);
