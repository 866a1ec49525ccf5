// storage/cloud/google-drive: Google Drive, spoken to by its public API. May import: storage/cloud and node.
// Start here, then google-drive.ts (the verbs), names.ts (how a name is taken where names may repeat), relocate.ts (guards),
// upload.ts and session.ts. What Drive's answers mean is in failures.ts and items.ts.
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, Powers, ServerSettings } from "../provider.ts";
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
  // Without both a person who agreed once before gets no refresh token.
  authorizationParameters: { access_type: "offline", prompt: "consent" },
};

const can: Powers = {
  trash: true,
  permanentDelete: true,
  // The tag of v2 narrows the gap; its documentation does not promise that it closes it.
  guardedRename: "emulated",
  guardedDelete: "emulated",
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

/** A person's Google Drive. The sizes and times of `tuning` are for tests. */
export function createGoogleDriveType(tuning: Partial<GoogleDriveTuning> = {}): CloudProviderType {
  return {
    type: "google_drive",
    title: "Google Drive",
    settings: [],
    oauth: createOAuthSpec(google),
    can,
    connect: (request, deps) => {
      const root = toApi(deps.server);
      return openGoogleDrive({ request, deps, vendor: google, root, can, tuning });
    },
  };
}

/** Google Drive as the daemon offers it. */
export const googleDrive: CloudProviderType = createGoogleDriveType();

function toApi({ googleBaseUrl }: ServerSettings): string {
  return toEndpoint("https://www.googleapis.com/", googleBaseUrl).replace(/\/$/, "");
}
