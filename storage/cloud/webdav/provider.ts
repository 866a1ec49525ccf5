// storage/cloud/webdav: folders of WebDAV servers, and the code that Nextcloud shares with them.
// Start here, then webdav.ts (the operations), relocate.ts (how a change is confirmed), probe.ts (features that servers fake),
// multistatus.ts and address.ts (parsing of responses).
import type {
  CloudProviderType,
  ConnectRequest,
  ProviderCapabilities,
  SettingSpec,
} from "../provider.ts";
import { openWebDav, type WebDavRequest } from "./webdav.ts";

/** A folder of any WebDAV server. */
export const webdav: CloudProviderType = {
  type: "webdav",
  title: "WebDAV server",
  settings: [
    {
      name: "url",
      kind: "url",
      required: true,
      secret: false,
      help: "The folder's address, such as https://dav.example.org/files/; over http:// the password travels readably",
    },
    ...signingIn("The password, or better one that was made for this application"),
    {
      name: "root",
      kind: "path",
      required: false,
      secret: false,
      help: "A folder below the address, when not all of it is to be shown",
    },
  ],
  capabilities: {
    trash: false,
    permanentDelete: true,
    guardedRename: "emulated",
    guardedDelete: "emulated",
    guardedReplace: "emulated",
    createOnly: "emulated",
    folderMove: true,
    ids: "path",
    caseSensitive: true,
    normalisationSensitive: true,
    duplicateNames: false,
    quota: true,
    range: true,
    versionResolutionMs: 0,
    uploadNeedsSize: false,
  },
  connect: (request, deps) => openWebDav(toWebDavRequest(request, webdav.capabilities), deps),
};

/** The settings of a connection, with their names in code. */
export function toWebDavRequest(
  { settings, credentials, probeResult, signal }: ConnectRequest,
  capabilities: ProviderCapabilities,
): WebDavRequest {
  return {
    url: settings["url"] ?? "",
    root: settings["root"] ?? "",
    username: settings["username"] ?? "",
    password: credentials["password"] ?? "",
    probeResult,
    capabilities,
    signal,
  };
}

/** The settings for user name and password. */
export function signingIn(passwordHelp: string): readonly SettingSpec[] {
  return [
    {
      name: "username",
      kind: "text",
      required: true,
      secret: false,
      help: "The name to sign in with",
    },
    { name: "password", kind: "text", required: true, secret: true, help: passwordHelp },
  ];
}
