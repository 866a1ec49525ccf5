import { brokenDropboxRule } from "../../storage/cloud/dropbox/names.ts";
import { dropbox } from "../../storage/cloud/dropbox/provider.ts";
import { createLocks } from "../../storage/locks.ts";
import { startDropboxServer } from "../stand-ins/dropbox-server.ts";
import { networkFaults, type ProxiedRequest } from "../support/cloud/fault-proxy.ts";
import { connectDropbox } from "../support/cloud/vendor-drives.ts";
import { openVendorSubject, vendorFaults } from "../support/cloud/vendor-subject.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const pieceBytes = 64 * 1024;
const uploadSizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000];

const ownFaults = [...vendorFaults, "lockChild"] as const;

const common = {
  capabilities: dropbox.capabilities,
  uploadSizes,
  entriesForPages: 45,
  refusesName: (name: string) => brokenDropboxRule(name) !== undefined,
  cannot: { 58: "apps cannot empty Dropbox's trash" },
};

const changes = [
  "create_folder_v2",
  "move_v2",
  "delete_v2",
  "restore",
  "upload",
  "upload_session/append_v2",
  "upload_session/finish",
].map((route) => `/2/files/${route}`);
const network = {
  isChange: ({ path }: ProxiedRequest) => changes.includes(path),
  isDownload: ({ path }: ProxiedRequest) => path === "/2/files/download",
  isUpload: ({ path }: ProxiedRequest) => path.startsWith("/2/files/upload"),
  full: {
    status: 409,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      error_summary: "path/insufficient_space/...",
      error: { ".tag": "path", reason: { ".tag": "insufficient_space" } },
    }),
  },
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
  // Both clients belong to one daemon.
  const deps = { locks: createLocks() };
  return openVendorSubject(server, {
    proxied: isProxied ? network : undefined,
    connect: (way) => connectDropbox(server, { ...way, deps }, pieceBytes),
    store: server.tree,
    // Unfinished sessions cannot be discarded: Dropbox removes them after a week.
    leftovers: async () => [],
    faults: {
      lockChild(id) {
        const node = server.tree.find(id);
        if (node !== undefined) node.isLocked = true;
      },
    },
    findBreach: () => (server.changesAtOnce() > 1 ? "changes of one account met" : undefined),
  });
}
