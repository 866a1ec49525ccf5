import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone, anyoneWithin, text } from "../endpoint.ts";
import { repository } from "../permission.ts";
import { apiError } from "./common.ts";
import { repositoryParams } from "./repositories/repositories.ts";

// Settings of the instance that clients read before they offer a feature. The values are those of this forge, in the
// shapes of the reference.

const apiOnly = "for clients; people see the settings by `croft config`";

/** This server signs no commits: 404. */
const signingReplies = { 200: text("text/plain"), 401: apiError, 404: apiError } as const;
const noKey = "this server signs no commits";

export const instanceSettingsEndpoints = {
  ...resource(
    {
      name: "forge.settings.api",
      path: "/api/v1/settings/api",
      shape: z.object({
        max_response_items: z.int(),
        default_paging_num: z.int(),
        default_git_trees_per_page: z.int(),
        default_max_blob_size: z.int(),
        default_max_response_size: z.int(),
      }),
      gate: anyone,
    },
    ({ get }) => ({
      getApiSettings: get("Limits of lists and of files in answers", { apiOnly }),
    }),
  ),
  ...resource(
    {
      name: "forge.settings.repository",
      path: "/api/v1/settings/repository",
      shape: z.object({
        mirrors_disabled: z.boolean(),
        http_git_disabled: z.boolean(),
        migrations_disabled: z.boolean(),
        stars_disabled: z.boolean(),
        time_tracking_disabled: z.boolean(),
        lfs_disabled: z.boolean(),
      }),
      gate: anyone,
    },
    ({ get }) => ({
      getRepositorySettings: get("Which features repositories lack", { apiOnly }),
    }),
  ),
  ...resource(
    {
      name: "forge.settings.ui",
      path: "/api/v1/settings/ui",
      shape: z.object({
        default_theme: z.string(),
        allowed_reactions: z.array(z.string()),
        custom_emojis: z.array(z.string()),
      }),
      gate: anyone,
    },
    ({ get }) => ({
      getUiSettings: get("The theme of the pages and the reactions to issues", { apiOnly }),
    }),
  ),
  ...resource(
    {
      name: "forge.settings.attachment",
      path: "/api/v1/settings/attachment",
      shape: z.object({
        enabled: z.boolean(),
        /** Types and endings, separated by commas; empty: any. */
        allowed_types: z.string(),
        max_files: z.int(),
        /** MiB of one file. */
        max_size: z.int(),
      }),
      gate: anyone,
    },
    ({ get }) => ({
      getAttachmentSettings: get("Limits of the files of issues and comments", { apiOnly }),
    }),
  ),
  ...resource(
    {
      name: "forge.signing_key",
      path: "/api/v1/signing-key.gpg",
      gate: anyone,
    },
    ({ operation }) => ({
      getSigningKey: operation({
        as: "gpg",
        method: "GET",
        summary: "The OpenPGP key with which this server signs commits; always empty",
        replies: { 200: text("text/plain") },
        refuses: [404],
        apiOnly: noKey,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.signing_key",
      path: "/api/v1/signing-key.pub",
      gate: anyone,
    },
    ({ operation }) => ({
      getSshSigningKey: operation({
        as: "ssh",
        method: "GET",
        summary: "The SSH key with which this server signs commits; always empty",
        replies: { 200: text("text/plain") },
        refuses: [404],
        apiOnly: noKey,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.signing_key",
      path: "/api/v1/repos/:owner/:repo/signing-key.gpg",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read", { evenOff: true }),
    },
    ({ operation }) => ({
      getRepositorySigningKey: operation({
        as: "gpg",
        method: "GET",
        summary:
          "The OpenPGP key with which this server signs commits of a repository; always empty",
        replies: { ...signingReplies, 403: apiError },
        refusesOnly: [],
        apiOnly: noKey,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.signing_key",
      path: "/api/v1/repos/:owner/:repo/signing-key.pub",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read", { evenOff: true }),
    },
    ({ operation }) => ({
      getRepositorySshSigningKey: operation({
        as: "ssh",
        method: "GET",
        summary: "The SSH key with which this server signs commits of a repository; always empty",
        replies: { ...signingReplies, 403: apiError },
        refusesOnly: [],
        apiOnly: noKey,
      }),
    }),
  ),
};
