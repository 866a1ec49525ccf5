import { s3Capabilities } from "../../storage/cloud/s3/findings.ts";
import type { S3ServerOptions } from "../stand-ins/s3-server.ts";
import { findRealBucket, REAL_BUCKET } from "../support/cloud/s3-real-server.ts";
import { allFaults, openS3Subject, SMALL_SIZES } from "../support/cloud/s3-subject.ts";
import { cloudProviderSuite, type SuiteOptions } from "./cloud-provider.suite.ts";

/** The capabilities with a server that ignores conditions. */
const emulated = {
  guardedRename: "emulated",
  guardedDelete: "emulated",
  guardedReplace: "emulated",
  createOnly: "emulated",
} as const;

const common = {
  entriesForPages: 25,
  uploadSizes: SMALL_SIZES,
  cannot: { 50: "keys do not end and are not renewed" },
  withoutFaults: "no fault is missing behind the proxy",
} satisfies Partial<SuiteOptions>;

const withConditions = { ...s3Capabilities, trash: false };
const withoutConditions = { ...s3Capabilities, trash: false, ...emulated };
const ignoring: S3ServerOptions = { conditions: "ignored", encoding: "none" };

// Each server stands behind a proxy that can fail. `cloud-s3-servers.test.ts` connects to one directly.
cloudProviderSuite("s3", {
  ...common,
  capabilities: withConditions,
  make: () => openS3Subject({ isProxied: true }),
  faults: allFaults,
});

/** Other servers, with everything in between that can fail. */
const failing: readonly {
  readonly name: string;
  readonly capabilities: SuiteOptions["capabilities"];
  readonly server: S3ServerOptions;
  readonly prefix?: string;
}[] = [
  { name: "a server that ignores conditions", capabilities: withoutConditions, server: ignoring },
  {
    name: "a server that refuses conditions and batches",
    capabilities: withoutConditions,
    server: { conditions: "not_implemented", encoding: "keys", hasBatches: false },
  },
  {
    name: "with versions, below a prefix",
    capabilities: s3Capabilities,
    server: { isVersioned: true, encoding: "percent" },
    prefix: "people/mira & co",
  },
  {
    name: "with versions whose delete markers show",
    capabilities: s3Capabilities,
    server: {
      isVersioned: true,
      listsDeletedFolders: true,
      markersCount: true,
      otherElements: true,
    },
  },
];

for (const { name, capabilities, ...options } of failing)
  cloudProviderSuite(`s3 behind a failing proxy, ${name}`, {
    ...common,
    capabilities,
    make: () => openS3Subject({ ...options, isProxied: true }),
    faults: allFaults,
  });

// Whatever server is at hand: MinIO, Garage, Ceph, a vendor's.
const real = await findRealBucket(process.env);
cloudProviderSuite("s3, a real server", {
  ...common,
  capabilities: real?.capabilities ?? withConditions,
  make: async () => {
    if (real === undefined) throw new Error(REAL_BUCKET);
    return real.open();
  },
  refusesName: (name) => real?.refusesBackslashes === true && name.includes("\\"),
  faults: [],
  withoutFaults: "a real server cannot inject failures",
  needs: { isThere: real !== undefined, reason: REAL_BUCKET },
});
