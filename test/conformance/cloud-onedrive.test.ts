import { brokenOneDriveRule } from "../../storage/cloud/onedrive/names.ts";
import { oneDrive } from "../../storage/cloud/onedrive/provider.ts";
import type { ProviderCapabilities } from "../../storage/cloud/provider.ts";
import { startOneDriveServer } from "../stand-ins/onedrive-server.ts";
import { networkFaults, type ProxiedRequest } from "../support/cloud/fault-proxy.ts";
import { connectOneDrive } from "../support/cloud/vendor-drives.ts";
import { openVendorSubject, vendorFaults } from "../support/cloud/vendor-subject.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

/** Small, so that the suite's files take every way of uploading. */
const sizes = { simpleBytesMax: 64 * 1024, fragmentBytes: 320 * 1024 };
const uploadSizes = [0, 1, 65_535, 65_536, 65_537, 327_680, 327_681, 655_360, 1_000_000];

const personal: ProviderCapabilities = { ...oneDrive.capabilities, permanentDelete: false };
const ownFaults = [...vendorFaults, "lockChild", "alterUploads"] as const;

const common = {
  uploadSizes,
  entriesForPages: 45,
  refusesName: (name: string) => brokenOneDriveRule(name) !== undefined,
  cannot: {
    57: "Microsoft Graph does not list the recycle bin",
    58: "Microsoft Graph does not list the recycle bin",
  },
};

// A work drive, and a personal one, which cannot delete permanently.
cloudProviderSuite("onedrive", {
  ...common,
  capabilities: oneDrive.capabilities,
  make: () => makeSubject("business", false),
  faults: [...ownFaults, "fill", "requests", "clear"],
  withoutFaults: "nothing lies between the adapter and the stand-in here",
});
cloudProviderSuite("onedrive, a personal drive behind failing networks", {
  ...common,
  capabilities: personal,
  make: () => makeSubject("personal", true),
  faults: [...ownFaults, ...networkFaults],
  withoutFaults: "the proxy cannot do that",
});

async function makeSubject(
  driveType: "personal" | "business",
  isProxied: boolean,
): Promise<CloudSubject> {
  const server = await startOneDriveServer({ driveType, pageItems: 20 });
  server.mixCase(driveType === "personal");
  const proxied = {
    isDownload: ({ path }: ProxiedRequest) => path.startsWith("/signed/download/"),
    isUpload: ({ method, path }: ProxiedRequest) =>
      method === "PUT" && (path.startsWith("/signed/upload/") || path.includes("/content")),
  };
  return openVendorSubject(server, {
    proxied: isProxied ? proxied : undefined,
    connect: (way) => connectOneDrive(server, way, sizes),
    store: server.tree,
    leftovers: async () => server.sessions(),
    faults: {
      lockChild(id) {
        const node = server.tree.find(id);
        if (node !== undefined) node.isLocked = true;
      },
      alterUploads: () => server.alterUploads(true),
    },
    clear: () => server.alterUploads(false),
    findBreach: () => (server.leaks() > 0 ? "the token was shown to a signed address" : undefined),
  });
}
