import { Agent } from "undici";
import { brokenDropboxRule } from "../../storage/cloud/dropbox/names.ts";
import { dropbox } from "../../storage/cloud/dropbox/provider.ts";
import { createTurns } from "../../storage/cloud/turns.ts";
import { startDropboxServer } from "../stand-ins/dropbox-server.ts";
import {
  impatient,
  networkFaults,
  startFaultProxy,
  type FaultProxyOptions,
} from "../support/fault-proxy.ts";
import { connectDropbox } from "../support/vendor-drives.ts";
import { cloudProviderSuite, type CloudSubject, type Faults } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const pieceBytes = 64 * 1024;
const uploadSizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000];

const ownFaults = [
  "failSecondPage",
  "expireToken",
  "refuseRenewal",
  "renewals",
  "lockChild",
] as const;

const common = {
  can: dropbox.can,
  uploadSizes,
  entriesForPages: 45,
  refusesName: (name: string) => brokenDropboxRule(name) !== undefined,
};

cloudProviderSuite("dropbox", {
  ...common,
  make: () => makeSubject(false),
  faults: [...ownFaults, "fill", "requests", "clear"],
  withoutFaults: "nothing lies between the adapter and the stand-in here",
});
cloudProviderSuite("dropbox behind failing networks", {
  ...common,
  make: () => makeSubject(true),
  faults: [...ownFaults, ...networkFaults],
  withoutFaults: "Dropbox keeps what it takes as it is",
});

async function makeSubject(isProxied: boolean): Promise<CloudSubject> {
  const server = await startDropboxServer({ pageItems: 20 });
  const isRoute = (path: string, ...routes: readonly string[]) =>
    routes.some((route) => path === `/2/files/${route}`);
  const between: FaultProxyOptions = {
    target: server.origin,
    isChange: ({ path }) =>
      isRoute(
        path,
        "create_folder_v2",
        "move_v2",
        "delete_v2",
        "upload",
        "upload_session/append_v2",
        "upload_session/finish",
      ),
    isDownload: ({ path }) => isRoute(path, "download"),
    isUpload: ({ path }) => path.startsWith("/2/files/upload"),
    full: {
      status: 409,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        error_summary: "path/insufficient_space/...",
        error: { ".tag": "path", reason: { ".tag": "insufficient_space" } },
      }),
    },
  };
  const proxy = isProxied ? await startFaultProxy(between) : undefined;
  const agent = new Agent();

  const way = {
    dispatcher: impatient(agent, 500),
    origin: proxy?.origin ?? server.origin,
    // Both clients belong to one daemon.
    deps: { turns: createTurns() },
  };
  const connect = () => connectDropbox(server, way, pieceBytes);

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
    overwrite: async (id, bytes) => server.tree.overwrite(id, bytes),
    // Sessions that nobody finishes cannot be given up: Dropbox forgets them after a week.
    leftovers: async () => [],
    restoreLast: async () => server.tree.restoreLast(),
    faults,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      if (server.changesAtOnce() > 1) throw new Error("changes of one account met");
    },
  };
}
