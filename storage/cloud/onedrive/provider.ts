// storage/cloud/onedrive: OneDrive and OneDrive for Business by Microsoft Graph 1.0. May import: storage/cloud and node.
// Start here, then onedrive.ts (opening), drive.ts (looking), changes.ts (guards and lost answers), upload.ts (sessions),
// graph.ts and failures.ts (the wire).
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, Powers, ServerSettings } from "../provider.ts";
import { openOneDrive, usualSizes } from "./onedrive.ts";
import type { UploadSizes } from "./upload.ts";

/** How people sign in at Microsoft. Every renewal gives another refresh token. */
const microsoft: OAuthVendor = {
  clientIdSetting: "onedriveClientId",
  clientSecretSetting: "onedriveClientSecret",
  otherSettings: ["onedriveTenantId"],
  authorizationEndpoint: (server) => toLogin(server, "authorize"),
  tokenEndpoint: (server) => toLogin(server, "token"),
  // Which of them were given cannot be read from the answer: work accounts spell them otherwise.
  scopes: ["Files.ReadWrite", "offline_access", "User.Read"],
  authorizationParameters: { response_mode: "query", prompt: "select_account" },
};

const can: Powers = {
  trash: true,
  permanentDelete: true,
  guardedRename: "atomic",
  // The precondition of a delete is sent, and done without where a drive refuses it although it is met.
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
  uploadNeedsSize: true,
};

/** The drive of a personal or a work account. Other sizes are for tests. */
export function createOneDriveType(sizes: UploadSizes = usualSizes): CloudProviderType {
  return {
    type: "onedrive",
    title: "OneDrive",
    settings: [],
    oauth: createOAuthSpec(microsoft),
    can,
    connect: (request, deps) => openOneDrive(request, deps, { vendor: microsoft, can, sizes }),
  };
}

/** OneDrive as the daemon offers it. */
export const oneDrive: CloudProviderType = createOneDriveType();

function toLogin(server: ServerSettings, page: "authorize" | "token"): string {
  const tenant = encodeURIComponent(server["onedriveTenantId"] ?? "");
  return toEndpoint(
    `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/${page}`,
    server["onedriveBaseUrl"],
  );
}
