import type { Dispatcher } from "undici";
import { openDropbox, USUAL_PIECE_BYTES } from "../../storage/cloud/dropbox/dropbox.ts";
import { dropbox, dropboxVendor } from "../../storage/cloud/dropbox/provider.ts";
import { openOneDrive, usualSizes } from "../../storage/cloud/onedrive/onedrive.ts";
import { microsoft, oneDrive } from "../../storage/cloud/onedrive/provider.ts";
import type { UploadSizes } from "../../storage/cloud/onedrive/upload.ts";
import type {
  CloudProvider,
  ConnectOutcome,
  ConnectRequest,
  ProviderDeps,
} from "../../storage/cloud/provider.ts";
import { dropboxClient, type DropboxServer } from "../stand-ins/dropbox-server.ts";
import type { OAuthServer } from "../stand-ins/oauth-server.ts";
import { oneDriveClient, type OneDriveServer } from "../stand-ins/onedrive-server.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** How a stand-in is reached. */
export interface Way {
  readonly dispatcher: Dispatcher;
  /** Of a proxy in between; the stand-in's own when absent. */
  readonly origin?: string;
  readonly deps?: Partial<ProviderDeps>;
  readonly request?: Partial<ConnectRequest>;
}

/** Connects to a stand-in of OneDrive as if its person had signed in. */
export async function connectOneDrive(
  server: Pick<OneDriveServer, "oauth" | "origin">,
  way: Way,
  sizes: UploadSizes = usualSizes,
): Promise<CloudProvider> {
  const settings = {
    onedriveClientId: oneDriveClient.id,
    onedriveClientSecret: oneDriveClient.secret,
    onedriveTenantId: "common",
    onedriveBaseUrl: way.origin ?? server.origin,
  };
  const by = { vendor: microsoft, can: oneDrive.can, sizes };
  return opened(await openOneDrive(toRequest(server.oauth, way), toDeps(settings, way), by));
}

/** Connects to a stand-in of Dropbox as if its person had signed in. */
export async function connectDropbox(
  server: Pick<DropboxServer, "oauth" | "origin">,
  way: Way,
  pieceBytes: number = USUAL_PIECE_BYTES,
): Promise<CloudProvider> {
  const settings = {
    dropboxClientId: dropboxClient.id,
    dropboxClientSecret: dropboxClient.secret,
    dropboxBaseUrl: way.origin ?? server.origin,
  };
  const by = { vendor: dropboxVendor, can: dropbox.can, pieceBytes };
  return opened(await openDropbox(toRequest(server.oauth, way), toDeps(settings, way), by));
}

function toRequest(oauth: OAuthServer, way: Way): ConnectRequest {
  const { accessToken, refreshToken } = oauth.grant("mira@example.com");
  return {
    connectionId: "c",
    settings: {},
    credentials: { access_token: accessToken, refresh_token: refreshToken },
    facts: undefined,
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
