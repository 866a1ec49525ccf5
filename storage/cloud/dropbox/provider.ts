// storage/cloud/dropbox: Dropbox by its API v2. May import: storage/cloud and node.
// Start here, then dropbox.ts (opening), account.ts (looking: ids and paths), changes.ts (guards and lost answers),
// upload.ts (sessions), api.ts and failures.ts (the wire).
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, Powers } from "../provider.ts";
import { openDropbox, USUAL_PIECE_BYTES } from "./dropbox.ts";

const scopes = [
  "account_info.read",
  "files.metadata.read",
  "files.content.read",
  "files.content.write",
];

/** How people sign in at Dropbox. The refresh token lasts. */
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

const can: Powers = {
  trash: true,
  // For teams' apps only.
  permanentDelete: false,
  guardedRename: "emulated",
  // Of the bytes it is atomic.
  guardedDelete: "emulated",
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

/** A person's Dropbox, or the one folder of it that an app of that kind sees. Other pieces are for tests. */
export function createDropboxType(pieceBytes: number = USUAL_PIECE_BYTES): CloudProviderType {
  return {
    type: "dropbox",
    title: "Dropbox",
    settings: [],
    oauth: createOAuthSpec(vendor),
    can,
    connect: (request, deps) => openDropbox(request, deps, { vendor, can, pieceBytes }),
  };
}

/** Dropbox as the daemon offers it. */
export const dropbox: CloudProviderType = createDropboxType();
