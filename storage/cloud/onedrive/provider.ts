// storage/cloud/onedrive: OneDrive and OneDrive for Business through Microsoft Graph 1.0.
// Start here, then onedrive.ts (opening), drive.ts (lookups), changes.ts (preconditions and lost responses), upload.ts
// (sessions), graph.ts and failures.ts (requests and errors).
import { createOAuthSpec, toEndpoint, type OAuthVendor } from "../oauth.ts";
import type { CloudProviderType, ProviderCapabilities, ServerSettings } from "../provider.ts";
import { openOneDrive, usualSizes } from "./onedrive.ts";
import type { UploadSizes } from "./session.ts";

/** Sign-in at Microsoft. Every renewal issues another refresh token. */
const microsoft: OAuthVendor = {
  clientIdSetting: "onedriveClientId",
  clientSecretSetting: "onedriveClientSecret",
  otherSettings: ["onedriveTenantId"],
  authorizationEndpoint: (server) => toLogin(server, "authorize"),
  tokenEndpoint: (server) => toLogin(server, "token"),
  // The response does not reliably state the granted scopes: work accounts spell them differently.
  scopes: ["Files.ReadWrite", "offline_access", "User.Read"],
  authorizationParameters: { response_mode: "query", prompt: "select_account" },
};

const capabilities: ProviderCapabilities = {
  trash: true,
  permanentDelete: true,
  guardedRename: "atomic",
  // The delete carries a precondition, and is retried without it on a drive that refuses it although it holds.
  guardedDelete: "emulated",
  guardedReplace: "emulated",
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
    capabilities,
    connect: (request, deps) =>
      openOneDrive(request, deps, { vendor: microsoft, capabilities, sizes }),
  };
}

/** The provider type of OneDrive. */
export const oneDrive: CloudProviderType = createOneDriveType();

function toLogin(server: ServerSettings, page: "authorize" | "token"): string {
  const tenant = encodeURIComponent(server["onedriveTenantId"] ?? "");
  return toEndpoint(
    `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/${page}`,
    server["onedriveBaseUrl"],
  );
}
