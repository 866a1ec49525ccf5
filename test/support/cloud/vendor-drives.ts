import type { Dispatcher } from "undici";
import { createDropboxType } from "../../../storage/cloud/dropbox/provider.ts";
import type { GoogleDriveTuning } from "../../../storage/cloud/google-drive/google-drive.ts";
import { createGoogleDriveType } from "../../../storage/cloud/google-drive/provider.ts";
import { createOneDriveType } from "../../../storage/cloud/onedrive/provider.ts";
import type { UploadSizes } from "../../../storage/cloud/onedrive/session.ts";
import type {
  CloudProvider,
  ConnectOutcome,
  ConnectRequest,
  ProviderDeps,
} from "../../../storage/cloud/provider.ts";
import { dropboxClient, type DropboxServer } from "../../stand-ins/dropbox-server.ts";
import { googleClient, type GoogleDriveServer } from "../../stand-ins/google-drive-server.ts";
import type { OAuthServer } from "../../stand-ins/oauth-server.ts";
import { oneDriveClient, type OneDriveServer } from "../../stand-ins/onedrive-server.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** How a stand-in is reached. */
export interface Way {
  readonly dispatcher: Dispatcher;
  /** Origin of a proxy in between; defaults to that of the stand-in. */
  readonly origin?: string;
  readonly deps?: Partial<ProviderDeps>;
  readonly request?: Partial<ConnectRequest>;
}

/** Connects to a stand-in of OneDrive as if its person had signed in. */
export async function connectOneDrive(
  server: Pick<OneDriveServer, "oauth" | "origin">,
  way: Way,
  sizes?: UploadSizes,
): Promise<CloudProvider> {
  const settings = {
    onedriveClientId: oneDriveClient.id,
    onedriveClientSecret: oneDriveClient.secret,
    onedriveTenantId: "common",
    onedriveBaseUrl: way.origin ?? server.origin,
  };
  const request = toRequest(server.oauth, way);
  return opened(await createOneDriveType(sizes).connect(request, toDeps(settings, way)));
}

/** Connects to a stand-in of Dropbox as if its person had signed in. */
export async function connectDropbox(
  server: Pick<DropboxServer, "oauth" | "origin">,
  way: Way,
  pieceBytes?: number,
): Promise<CloudProvider> {
  const settings = {
    dropboxClientId: dropboxClient.id,
    dropboxClientSecret: dropboxClient.secret,
    dropboxBaseUrl: way.origin ?? server.origin,
  };
  const request = toRequest(server.oauth, way);
  return opened(await createDropboxType(pieceBytes).connect(request, toDeps(settings, way)));
}

/** Connects to a stand-in of Google Drive as if the first of its people had signed in. */
export async function connectGoogleDrive(
  { oauth, origin, accounts }: Pick<GoogleDriveServer, "oauth" | "origin" | "accounts">,
  way: Way,
  tuning: Partial<GoogleDriveTuning> = {},
): Promise<CloudProvider> {
  const settings = {
    googleClientId: googleClient.id,
    googleClientSecret: googleClient.secret,
    googleBaseUrl: way.origin ?? origin,
  };
  const request = toRequest(oauth, way, accounts[0]);
  return opened(await createGoogleDriveType(tuning).connect(request, toDeps(settings, way)));
}

function toRequest(
  oauth: OAuthServer,
  way: Way,
  account: string = "mira@example.com",
): ConnectRequest {
  const { accessToken, refreshToken } = oauth.grant(account);
  return {
    connectionId: "c",
    settings: {},
    credentials: { access_token: accessToken, refresh_token: refreshToken },
    probeResult: undefined,
    saveCredentials: async () => undefined,
    signal: new AbortController().signal,
    ...way.request,
  };
}

function toDeps(server: Readonly<Record<string, string>>, way: Way): ProviderDeps {
  return {
    ...testProviderDeps("/nowhere", Date.now),
    newId: () => crypto.randomUUID(),
    server,
    direct: way.dispatcher,
    guarded: way.dispatcher,
    ...way.deps,
  };
}

function opened(outcome: ConnectOutcome): CloudProvider {
  if (outcome.kind !== "ok") throw new Error(`not connected: ${JSON.stringify(outcome)}`);
  return outcome.provider;
}
