// daemon/forge/instance: limits and features of this server. Start here; miscellaneous.feature.ts wires up the routes of its group.
import { BLOB_BYTES_MAX, TREE_PAGE_MAX } from "../../contract/forge/code/objects.ts";
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "../../contract/forge/common.ts";
import { instanceSettingsEndpoints } from "../../contract/forge/instance-settings.ts";
import { reactionNames } from "../../contract/forge/issues/reactions.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import type { MissingFeatures } from "./missing-features.ts";

const repositoryFeatures = {
  mirrors_disabled: false,
  http_git_disabled: false,
  migrations_disabled: false,
  stars_disabled: false,
  time_tracking_disabled: false,
  lfs_disabled: false,
} as const;

const responseLimits = {
  max_response_items: MAX_PAGE_SIZE,
  default_paging_num: DEFAULT_PAGE_SIZE,
  default_git_trees_per_page: TREE_PAGE_MAX,
  default_max_blob_size: BLOB_BYTES_MAX,
  // Several files in one response share the limit of a single file.
  default_max_response_size: BLOB_BYTES_MAX,
} as const;

/** Returns the routes by which clients learn limits and features of this forge. */
export function instanceSettingsRoutes(features: MissingFeatures): Route[] {
  const refuse = async () => features.refuseSigningKey();
  return serve(instanceSettingsEndpoints, {
    getApiSettings: async () => responseLimits,
    getRepositorySettings: async () => repositoryFeatures,
    getUiSettings: async () => ({
      default_theme: "croft",
      allowed_reactions: [...reactionNames],
      custom_emojis: [],
    }),
    getAttachmentSettings: async () => features.attachmentSettings,
    getSigningKey: refuse,
    getSshSigningKey: refuse,
    getRepositorySigningKey: refuse,
    getRepositorySshSigningKey: refuse,
  });
}
