import { z } from "zod";
import { anyone, endpoint } from "../endpoint.ts";
import { apiError } from "./common.ts";

// What clients ask before they offer something. The values are those of this forge, in the shapes of the reference.

const apiOnly = "clients ask for it; people see the settings by `croft config`";

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

export const instanceSettingsEndpoints = [getApiSettings, getRepositorySettings, getUiSettings];
