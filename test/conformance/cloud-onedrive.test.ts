import { Agent } from "undici";
import { brokenOneDriveRule } from "../../storage/cloud/onedrive/names.ts";
import { oneDrive } from "../../storage/cloud/onedrive/provider.ts";
import type { Powers } from "../../storage/cloud/provider.ts";
import { startOneDriveServer } from "../stand-ins/onedrive-server.ts";
import {
  impatient,
  networkFaults,
  startFaultProxy,
  type FaultProxyOptions,
} from "../support/fault-proxy.ts";
import { connectOneDrive } from "../support/vendor-drives.ts";
import { cloudProviderSuite, type CloudSubject, type Faults } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const sizes = { simpleBytesMax: 64 * 1024, fragmentBytes: 320 * 1024 };
const uploadSizes = [0, 1, 65_535, 65_536, 65_537, 327_680, 327_681, 655_360, 1_000_000];

const personal: Powers = { ...oneDrive.can, permanentDelete: false };
const ownFaults = [
  "failSecondPage",
  "expireToken",
  "refuseRenewal",
  "renewals",
  "lockChild",
  "alterUploads",
] as const;

const common = {
  uploadSizes,
  entriesForPages: 45,
  refusesName: (name: string) => brokenOneDriveRule(name) !== undefined,
};

// A drive for work, and one of a person, which cannot delete for good.
cloudProviderSuite("onedrive", {
  ...common,
  can: oneDrive.can,
  make: () => makeSubject("business", false),
  faults: [...ownFaults, "fill", "requests", "clear"],
  withoutFaults: "nothing lies between the adapter and the stand-in here",
});
cloudProviderSuite("onedrive, a personal drive behind failing networks", {
  ...common,
  can: personal,
  make: () => makeSubject("personal", true),
  faults: [...ownFaults, ...networkFaults],
  withoutFaults: "the proxy cannot do that",
});

async function makeSubject(
  driveType: "personal" | "business",
  isProxied: boolean,
): Promise<CloudSubject> {
  const server = await startOneDriveServer({ driveType, pageItems: 20 });
  const between: FaultProxyOptions = {
    target: server.origin,
    isDownload: ({ path }) => path.startsWith("/signed/download/"),
    isUpload: ({ method, path }) =>
      method === "PUT" && (path.startsWith("/signed/upload/") || path.includes("/content")),
  };
  server.mixCase(driveType === "personal");
  const proxy = isProxied ? await startFaultProxy(between) : undefined;
  const agent = new Agent();

  const way = { dispatcher: impatient(agent, 500), origin: proxy?.origin ?? server.origin };
  const connect = () => connectOneDrive(server, way, sizes);

  const faults: Partial<Faults> = {
    requests: server.requests,
    fill: server.fill,
    ...proxy?.faults,
    failSecondPage: () => server.failSecondPage(true),
    expireToken: server.oauth.expireTokens,
    refuseRenewal: () => server.oauth.refuseRenewal(true),
    renewals: server.oauth.renewals,
    lockChild(id) {
      const node = server.tree.find(id);
      if (node !== undefined) node.isLocked = true;
    },
    alterUploads: () => server.alterUploads(true),
    clear() {
      proxy?.faults.clear();
      server.failSecondPage(false);
      server.fill(undefined);
      server.alterUploads(false);
    },
  };
  const [provider, other] = [await connect(), await connect()];
  return {
    provider,
    other,
    overwrite: async (id, bytes) => server.tree.overwrite(id, bytes),
    leftovers: async () => server.sessions(),
    restoreLast: async () => server.tree.restoreLast(),
    faults,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      if (server.leaks() > 0) throw new Error("the token was shown to a signed address");
    },
  };
}
