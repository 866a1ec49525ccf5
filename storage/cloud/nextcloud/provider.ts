// storage/cloud/nextcloud: a user's files on a Nextcloud server, or on ownCloud 10.
// Start here, then nextcloud.ts (extensions of WebDAV), server.ts (capabilities), uploading.ts (chunked uploads),
// trash.ts.
import type { CloudProviderType } from "../provider.ts";
import { signingIn, toWebDavRequest, webdav } from "../webdav/provider.ts";
import { openNextcloud } from "./nextcloud.ts";

const PIECE_BYTES = 10 * 1024 * 1024;

/** Creates the provider type with chunks of `pieceBytes` for large uploads; tests use small ones. */
export function createNextcloudType(pieceBytes: number): CloudProviderType {
  const type: CloudProviderType = {
    type: "nextcloud",
    title: "Nextcloud",
    recovers: true,
    settings: [
      {
        name: "url",
        kind: "url",
        required: true,
        secret: false,
        help: "The server's address, such as https://cloud.example.org; over http:// the password travels readably",
      },
      ...signingIn(
        "An app password: Settings, Security, Devices & sessions, Create new app password",
      ),
      {
        name: "root",
        kind: "path",
        required: false,
        secret: false,
        help: "One folder of your files, when not all of them are to be shown",
      },
    ],
    capabilities: {
      ...webdav.capabilities,
      trash: true,
      normalisationSensitive: false,
      versionResolutionMs: 1_000,
    },
    connect: (request, deps) =>
      openNextcloud({ ...toWebDavRequest(request, type.capabilities), pieceBytes }, deps),
  };
  return type;
}

/** A user's files on a Nextcloud server. */
export const nextcloud: CloudProviderType = createNextcloudType(PIECE_BYTES);
