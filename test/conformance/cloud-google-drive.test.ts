import { googleDrive } from "../../storage/cloud/google-drive/provider.ts";
import { startGoogleDriveServer } from "../stand-ins/google-drive-server.ts";
import { networkFaults, type ProxiedRequest } from "../support/cloud/fault-proxy.ts";
import { connectGoogleDrive } from "../support/cloud/vendor-drives.ts";
import { openVendorSubject, vendorFaults } from "../support/cloud/vendor-subject.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const PIECE = 256 * 1024;
const tuning = { pageSize: 20, simpleBytesMax: 64 * 1024, pieceBytes: PIECE };

const ownFaults = [...vendorFaults, "requests", "fill", "clear"] as const;

const common = {
  capabilities: googleDrive.capabilities,
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
  const proxied = {
    isDownload: ({ path }: ProxiedRequest) => path.includes("alt=media"),
    isUpload: ({ method, path }: ProxiedRequest) => method === "PUT" && path.startsWith("/upload/"),
  };
  return openVendorSubject(server, {
    proxied: isProxied ? proxied : undefined,
    // Waits are for others to get on: they are short here, but there are some.
    connect: (way) =>
      connectGoogleDrive(
        server,
        { ...way, deps: { sleep: (ms, signal) => wait(ms / 50, signal) } },
        tuning,
      ),
    store: server.store,
    leftovers: async () => server.sessions(),
    faults: { requests: server.requests, fill: server.fill },
  });
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise((resolve) => setTimeout(resolve, ms));
  signal?.throwIfAborted();
}
