import { z } from "zod";
import { anyone, anyoneWithin, endpoint, forgeUser, text } from "../endpoint.ts";
import { apiError, requiredText, signedInReplies } from "./common.ts";
import { repositoryParams } from "./repositories/repositories.ts";

// Settings of the instance that clients read before they offer a feature. The values are those of this forge, in the
// shapes of the reference.

const apiOnly = "for clients; people see the settings by `croft config`";

export const getApiSettings = endpoint({
  name: "forge.settings.api.get",
  method: "GET",
  path: "/api/v1/settings/api",
  summary: "Limits of lists and of files in answers",
  gate: anyone,
  replies: {
    200: z.object({
      max_response_items: z.int(),
      default_paging_num: z.int(),
      default_git_trees_per_page: z.int(),
      default_max_blob_size: z.int(),
      default_max_response_size: z.int(),
    }),
    401: apiError,
  },
  apiOnly,
});

export const getRepositorySettings = endpoint({
  name: "forge.settings.repository.get",
  method: "GET",
  path: "/api/v1/settings/repository",
  summary: "Which features repositories lack",
  gate: anyone,
  replies: {
    200: z.object({
      mirrors_disabled: z.boolean(),
      http_git_disabled: z.boolean(),
      migrations_disabled: z.boolean(),
      stars_disabled: z.boolean(),
      time_tracking_disabled: z.boolean(),
      lfs_disabled: z.boolean(),
    }),
    401: apiError,
  },
  apiOnly,
});

export const getUiSettings = endpoint({
  name: "forge.settings.ui.get",
  method: "GET",
  path: "/api/v1/settings/ui",
  summary: "The theme of the pages and the reactions to issues",
  gate: anyone,
  replies: {
    200: z.object({
      default_theme: z.string(),
      allowed_reactions: z.array(z.string()),
      custom_emojis: z.array(z.string()),
    }),
    401: apiError,
  },
  apiOnly,
});

export const getAttachmentSettings = endpoint({
  name: "forge.settings.attachment.get",
  method: "GET",
  path: "/api/v1/settings/attachment",
  summary: "Limits of the files of issues and comments",
  gate: anyone,
  replies: {
    200: z.object({
      enabled: z.boolean(),
      /** Types and endings, separated by commas; empty: any. */
      allowed_types: z.string(),
      max_files: z.int(),
      /** MiB of one file. */
      max_size: z.int(),
    }),
    401: apiError,
  },
  apiOnly,
});

/** This server signs no commits: 404. */
const signingReplies = { 200: text("text/plain"), 401: apiError, 404: apiError } as const;
const noKey = "this server signs no commits";

export const getSigningKey = endpoint({
  name: "forge.signing_key.gpg",
  method: "GET",
  path: "/api/v1/signing-key.gpg",
  summary: "The OpenPGP key with which this server signs commits; always empty",
  gate: anyone,
  replies: signingReplies,
  apiOnly: noKey,
});

export const getSshSigningKey = endpoint({
  name: "forge.signing_key.ssh",
  method: "GET",
  path: "/api/v1/signing-key.pub",
  summary: "The SSH key with which this server signs commits; always empty",
  gate: anyone,
  replies: signingReplies,
  apiOnly: noKey,
});

export const getRepositorySigningKey = endpoint({
  name: "forge.repos.signing_key.gpg",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/signing-key.gpg",
  summary: "The OpenPGP key with which this server signs commits of a repository; always empty",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  replies: { ...signingReplies, 403: apiError },
  apiOnly: noKey,
});

export const getRepositorySshSigningKey = endpoint({
  name: "forge.repos.signing_key.ssh",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/signing-key.pub",
  summary: "The SSH key with which this server signs commits of a repository; always empty",
  gate: anyoneWithin("repository"),
  params: repositoryParams,
  replies: { ...signingReplies, 403: apiError },
  apiOnly: noKey,
});

/** Answers as the reference does where migrations are turned off. */
export const migrateRepository = endpoint({
  name: "forge.repos.migrate",
  method: "POST",
  path: "/api/v1/repos/migrate",
  summary: "Import a repository from another server; not supported: clone and push",
  gate: forgeUser("repository"),
  body: z.object({ clone_addr: requiredText(), repo_name: requiredText() }),
  replies: { 201: z.never(), ...signedInReplies, 422: apiError },
  apiOnly: "git clone --mirror and croft repo create with a push import a repository",
});

export const instanceSettingsEndpoints = {
  getApiSettings,
  getRepositorySettings,
  getUiSettings,
  getAttachmentSettings,
  getSigningKey,
  getSshSigningKey,
  getRepositorySigningKey,
  getRepositorySshSigningKey,
  migrateRepository,
};
