import { Buffer } from "node:buffer";
import { nextcloud } from "../../storage/cloud/nextcloud/provider.ts";
import { webdav } from "../../storage/cloud/webdav/provider.ts";
import { findRealDavServer, REAL_DAV } from "../support/cloud/dav-real-server.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

// The servers that the environment names. Their capabilities determine which behaviours are skipped.
const common = {
  entriesForPages: 60,
  faults: [],
  withoutFaults: "a real server cannot inject failures",
} satisfies Partial<SuiteOptions>;

const dav = await findRealDavServer("webdav", process.env);
const LOOKS_ALIKE = "changes of one size within one second look alike on this server";
cloudProviderSuite("webdav, a real server", {
  ...common,
  capabilities: dav?.capabilities ?? webdav.capabilities,
  make: async () => {
    if (dav === undefined) throw new Error(REAL_DAV.webdav);
    return dav.open();
  },
  cannot: {
    ...(dav?.capabilities.versionResolutionMs === 0 ? {} : { 15: LOOKS_ALIKE }),
    ...(dav?.probeResult["refuses_orphans"] === false
      ? { 31: "this server creates the missing folders of a file, so a deleted one comes back" }
      : {}),
  },
  refusesName: (name) => dav?.probeResult["whole_destinations"] === false && /[?;]/.test(name),
  needs: { isThere: dav !== undefined, reason: REAL_DAV.webdav },
});

const cloud = await findRealDavServer("nextcloud", process.env);
const piece = cloud?.pieceBytes ?? 0;
cloudProviderSuite("nextcloud, a real server", {
  ...common,
  capabilities: cloud?.capabilities ?? nextcloud.capabilities,
  make: async () => {
    if (cloud === undefined) throw new Error(REAL_DAV.nextcloud);
    return cloud.open();
  },
  uploadSizes: [0, 1, 65_536, 65_537, piece, piece + 1, 2 * piece + 1],
  spell: (name) => name.normalize("NFC"),
  cannot: { 15: LOOKS_ALIKE },
  refusesName: (name) => name.includes("\\") || Buffer.byteLength(name) > 250,
  needs: { isThere: cloud !== undefined, reason: REAL_DAV.nextcloud },
});
