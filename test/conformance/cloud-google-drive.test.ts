import { Agent } from "undici";
import { createGoogleDriveType, googleDrive } from "../../storage/cloud/google-drive/provider.ts";
import type { CloudProvider } from "../../storage/cloud/provider.ts";
import { googleClient, startGoogleDriveServer } from "../stand-ins/google-drive-server.ts";
import {
  impatient,
  networkFaults,
  startFaultProxy,
  type FaultProxyOptions,
} from "../support/fault-proxy.ts";
import { testProviderDeps } from "../support/vault-cloud.ts";
import { cloudProviderSuite, type CloudSubject, type Faults } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const PIECE = 256 * 1024;
const tuning = { pageSize: 20, simpleBytesMax: 64 * 1024, pieceBytes: PIECE };

const ownFaults = [
  "failSecondPage",
  "expireToken",
  "refuseRenewal",
  "renewals",
  "requests",
  "fill",
  "clear",
] as const;

const common = {
  can: googleDrive.can,
  uploadSizes: [0, 1, 65_535, 65_536, 65_537, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 1_000_000],
  entriesForPages: 45,
  cannot: {
    32: "Drive keeps bytes as they are",
    48: "Drive deletes a folder in one step, whatever is in it",
  },
};

cloudProviderSuite("google_drive", {
  ...common,
  make: () => makeSubject(false),
  faults: ownFaults,
  withoutFaults: "nothing lies between the adapter and the stand-in here",
});
cloudProviderSuite("google_drive, behind failing networks", {
  ...common,
  make: () => makeSubject(true),
  faults: [...ownFaults, ...networkFaults],
  withoutFaults: "the proxy cannot do that",
});

async function makeSubject(isProxied: boolean): Promise<CloudSubject> {
  const server = await startGoogleDriveServer({ limitBytes: 1024 ** 3 });
  const between: FaultProxyOptions = {
    target: server.origin,
    isDownload: ({ path }) => path.includes("alt=media"),
    isUpload: ({ method, path }) => method === "PUT" && path.startsWith("/upload/"),
  };
  const proxy = isProxied ? await startFaultProxy(between) : undefined;
  const agent = new Agent();
  const direct = impatient(agent, 1500);
  const settings = {
    googleClientId: googleClient.id,
    googleClientSecret: googleClient.secret,
    googleBaseUrl: proxy?.origin ?? server.origin,
  };

  async function connect(): Promise<CloudProvider> {
    const { accessToken, refreshToken } = server.oauth.grant("ann@example.org");
    const outcome = await createGoogleDriveType(tuning).connect(
      {
        connectionId: "c",
        settings: {},
        credentials: { access_token: accessToken, refresh_token: refreshToken },
        facts: undefined,
        saveCredentials: async () => undefined,
        signal: new AbortController().signal,
      },
      {
        ...testProviderDeps("/nowhere", Date.now),
        newId: () => crypto.randomUUID(),
        // Waits are for others to get on: they are short here, but there are some.
        sleep: (ms, signal) => wait(ms / 50, signal),
        server: settings,
        direct,
        guarded: direct,
      },
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return outcome.provider;
  }

  const faults: Partial<Faults> = {
    ...proxy?.faults,
    requests: server.requests,
    fill: server.fill,
    failSecondPage: () => server.failSecondPage(true),
    expireToken: server.oauth.expireTokens,
    refuseRenewal: () => server.oauth.refuseRenewal(true),
    renewals: server.oauth.renewals,
    clear() {
      proxy?.faults.clear();
      server.failSecondPage(false);
      server.fill(undefined);
    },
  };
  const [provider, other] = [await connect(), await connect()];
  return {
    provider,
    other,
    overwrite: async (id, bytes) => server.store.overwrite(id, bytes),
    leftovers: async () => server.sessions(),
    restoreLast: async () => server.store.restoreLast(),
    faults,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal?.throwIfAborted();
}
