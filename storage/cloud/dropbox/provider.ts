// storage/cloud/dropbox: Dropbox by its API v2. May import: storage/cloud and node.
// Start here, then dropbox.ts (opening), account.ts (looking: ids and paths), changes.ts (guards and lost answers),
// upload.ts (sessions), api.ts and failures.ts (the wire).
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType } from "../provider.ts";
import { openDropbox, USUAL_PIECE_BYTES } from "./dropbox.ts";

const scopes = [
  "account_info.read",
  "files.metadata.read",
  "files.content.read",
  "files.content.write",
];

/** How people sign in at Dropbox. The refresh token lasts. */
export const dropboxVendor: OAuthVendor = {
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

/** A person's Dropbox, or the one folder of it that an app of that kind sees. */
export const dropbox: CloudProviderType = {
  type: "dropbox",
  title: "Dropbox",
  settings: [],
  oauth: createOAuthSpec(dropboxVendor),
  can: {
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
  },
  connect: (request, deps) =>
    openDropbox(request, deps, {
      vendor: dropboxVendor,
      can: dropbox.can,
      pieceBytes: USUAL_PIECE_BYTES,
    }),
};
