// storage/cloud/dropbox: Dropbox through its API v2.
// Start here, then dropbox.ts (opening), account.ts (lookups by id and path), changes.ts (preconditions and lost responses),
// upload.ts (sessions), api.ts and failures.ts (requests and errors).
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, ProviderCapabilities } from "../provider.ts";
import { openDropbox, USUAL_PIECE_BYTES } from "./dropbox.ts";

const scopes = [
  "account_info.read",
  "files.metadata.read",
  "files.content.read",
  "files.content.write",
];

/** Sign-in at Dropbox. The refresh token does not expire. */
const vendor: OAuthVendor = {
  clientIdSetting: "dropboxClientId",
  clientSecretSetting: "dropboxClientSecret",
  authorizationEndpoint: ({ dropboxBaseUrl }) =>
    toEndpoint("https://www.dropbox.com/oauth2/authorize", dropboxBaseUrl),
  tokenEndpoint: ({ dropboxBaseUrl }) =>
    toEndpoint("https://api.dropboxapi.com/oauth2/token", dropboxBaseUrl),
  scopes,
  neededScopes: scopes,
  authorizationParameters: { token_access_type: "offline" },
};

const capabilities: ProviderCapabilities = {
  trash: true,
  // For team apps only.
  permanentDelete: false,
  guardedRename: "emulated",
  // `atomic` holds for the bytes.
  guardedDelete: "emulated",
  guardedReplace: "atomic",
  createOnly: "atomic",
  folderMove: true,
  ids: "stable",
  caseSensitive: false,
  normalisationSensitive: false,
  duplicateNames: false,
  quota: true,
  range: true,
  versionResolutionMs: 0,
  uploadNeedsSize: false,
};

/** A user's Dropbox, or the one folder that an app-folder app can access. Other piece sizes are for tests. */
export function createDropboxType(pieceBytes: number = USUAL_PIECE_BYTES): CloudProviderType {
  return {
    type: "dropbox",
    title: "Dropbox",
    settings: [],
    oauth: createOAuthSpec(vendor),
    capabilities,
    connect: (request, deps) => openDropbox(request, deps, { vendor, capabilities, pieceBytes }),
  };
}

/** The provider type of Dropbox. */
export const dropbox: CloudProviderType = createDropboxType();
