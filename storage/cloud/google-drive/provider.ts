// storage/cloud/google-drive: Google Drive through its public API.
// Start here, then google-drive.ts (the operations), names.ts (unique names where names may repeat), relocate.ts
// (preconditions), upload.ts and session.ts. failures.ts and items.ts interpret Drive's responses.
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, ProviderCapabilities, ServerSettings } from "../provider.ts";
import { openGoogleDrive, type GoogleDriveTuning } from "./google-drive.ts";

const SCOPE = "https://www.googleapis.com/auth/drive";

/** Google's sign-in (Google Identity, OAuth 2.0 for web server applications). */
const google: OAuthVendor = {
  clientIdSetting: "googleClientId",
  clientSecretSetting: "googleClientSecret",
  authorizationEndpoint: ({ googleBaseUrl }) =>
    toEndpoint("https://accounts.google.com/o/oauth2/v2/auth", googleBaseUrl),
  tokenEndpoint: ({ googleBaseUrl }) =>
    toEndpoint("https://oauth2.googleapis.com/token", googleBaseUrl),
  scopes: [SCOPE],
  neededScopes: [SCOPE],
  // Without both, a user who consented before gets no refresh token.
  authorizationParameters: { access_type: "offline", prompt: "consent" },
};

const capabilities: ProviderCapabilities = {
  trash: true,
  permanentDelete: true,
  // The etag of v2 narrows the race; its documentation does not promise to exclude it.
  guardedRename: "emulated",
  guardedDelete: "emulated",
  guardedReplace: "emulated",
  createOnly: "emulated",
  folderMove: true,
  ids: "stable",
  caseSensitive: true,
  normalisationSensitive: true,
  duplicateNames: true,
  quota: true,
  range: true,
  versionResolutionMs: 0,
  uploadNeedsSize: false,
};

/** A user's Google Drive. The sizes and times of `tuning` are for tests. */
export function createGoogleDriveType(tuning: Partial<GoogleDriveTuning> = {}): CloudProviderType {
  return {
    type: "google_drive",
    title: "Google Drive",
    settings: [],
    oauth: createOAuthSpec(google),
    capabilities,
    connect: (request, deps) => {
      const root = toApi(deps.server);
      return openGoogleDrive({ request, deps, vendor: google, root, capabilities, tuning });
    },
  };
}

/** The provider type of Google Drive. */
export const googleDrive: CloudProviderType = createGoogleDriveType();

function toApi({ googleBaseUrl }: ServerSettings): string {
  return toEndpoint("https://www.googleapis.com/", googleBaseUrl).replace(/\/$/, "");
}
