import { Agent } from "undici";
import type { CloudSubject, Faults } from "../../conformance/cloud-provider.suite.ts";
import type { S3Limits } from "../../../storage/cloud/s3/context.ts";
import { createS3Type } from "../../../storage/cloud/s3/provider.ts";
import type { CloudProvider, ProbeResult, ProviderDeps } from "../../../storage/cloud/provider.ts";
import { createLocks } from "../../../storage/locks.ts";
import { startS3Server, type S3Server, type S3ServerOptions } from "../../stand-ins/s3-server.ts";
import { networkFaults, startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** Parts of 256 KiB, so that files of less than a megabyte are uploaded and copied in parts. */
export const SMALL_PARTS: S3Limits = {
  partBytes: 256 * 1024,
  partsMax: 10_000,
  partsAtOnce: 2,
  copyBytesMax: 600_000,
  copyPartBytes: 256 * 1024,
};

/** Lengths around which uploads take another way with `SMALL_PARTS`. */
export const SMALL_SIZES = [0, 1, 262_143, 262_144, 262_145, 524_288, 1_000_000];

export const allFaults: readonly (keyof Faults)[] = [
  ...networkFaults,
  "failSecondPage",
  "lockChild",
  "alterUploads",
];

/** A bucket of a stand-in with the adapter connected twice, directly or through a proxy that fails. */
export interface S3Subject extends CloudSubject {
  readonly server: S3Server;
  readonly proxy: FaultProxy | undefined;
  /** The result of the probe. */
  readonly probeResult: ProbeResult;
  readonly deps: ProviderDeps;
  /** Opens another connection: with the known probe result, as after a start of the daemon, or with a new probe. */
  connect(options?: {
    readonly probeResult?: ProbeResult | undefined;
    readonly connectionId?: string;
    /** Of another daemon. */
    readonly home?: string;
    readonly deps?: ProviderDeps;
  }): Promise<CloudProvider>;
}

export interface S3SubjectOptions {
  readonly server?: S3ServerOptions;
  readonly limits?: S3Limits;
  /** A folder of the bucket as the root. */
  readonly prefix?: string;
  readonly isProxied?: boolean;
}

/** Starts all of it. Disposing of it fails when a request is still running. */
export async function openS3Subject(options: S3SubjectOptions = {}): Promise<S3Subject> {
  const server = await startS3Server({ pageEntries: 10, partBytesMin: 1024, ...options.server });
  const proxy = options.isProxied
    ? await startFaultProxy({
        target: server.origin,
        isChange: ({ method, path }) =>
          /^(PUT|POST|DELETE)$/.test(method) && !path.includes("/.croft/"),
        isDownload: ({ method, path }) => method === "GET" && !path.includes("?"),
        isUpload: ({ method, path }) => method === "PUT" && !path.includes("/.croft/"),
      })
    : undefined;
  const agent = new Agent();
  const deps: ProviderDeps = {
    ...testProviderDeps("", Date.now),
    newId: () => crypto.randomUUID(),
    guarded: proxy?.impatient(agent) ?? agent,
  };
  const type = createS3Type(options.limits ?? SMALL_PARTS);
  let probeResult: ProbeResult = {};
  const connect: S3Subject["connect"] = async ({
    probeResult: known,
    connectionId = "one",
    home,
    deps: own = deps,
  } = {}) => {
    const outcome = await type.connect(
      {
        connectionId,
        settings: {
          endpoint: proxy?.origin ?? server.origin,
          bucket: server.bucket,
          region: server.region,
          prefix: options.prefix ?? "",
        },
        credentials: {
          access_key_id: server.key.id,
          secret_access_key: server.key.secret,
          ...(server.key.sessionToken === undefined
            ? {}
            : { session_token: server.key.sessionToken }),
        },
        probeResult: known,
        saveCredentials: async () => undefined,
        signal: new AbortController().signal,
      },
      home === undefined ? own : { ...own, home, locks: createLocks() },
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    probeResult = outcome.probeResult;
    return outcome.provider;
  };
  const root = options.prefix === undefined ? "" : `${options.prefix}/`;
  const provider = await connect();
  const other = await connect({ probeResult, connectionId: "two" });
  return {
    provider,
    other,
    server,
    proxy,
    deps,
    get probeResult() {
      return probeResult;
    },
    connect,
    async overwrite(id, bytes) {
      const key = root + id;
      server.store.put(key, Buffer.from(bytes), server.store.current(key)?.headers ?? {});
    },
    async leftovers() {
      const own = server.store.versions(`${root}.croft/`).map(({ key }) => key);
      const uploads = [...server.store.uploads.values()].map(({ key }) => `upload of ${key}`);
      return [...own, ...uploads];
    },
    async restoreLast() {
      // As in Amazon's documentation: deleting the markers restores the objects that they hide.
      const markers = server.store
        .versions(root)
        .filter(({ version, isLatest }) => isLatest && version.isMarker);
      for (const { key, version } of markers) server.store.remove(key, version.id);
    },
    faults: {
      ...proxy?.faults,
      failSecondPage: () =>
        server.refuse(({ query }) => query.has("continuation-token"), {
          status: 500,
          code: "InternalError",
        }),
      lockChild: (id) =>
        server.refuse(({ method, key }) => method === "DELETE" && key === root + id, {
          status: 403,
          code: "AccessDenied",
        }),
      alterUploads: () => server.alterUploads(),
      clear() {
        proxy?.faults.clear();
        server.calm();
      },
    },
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await agent.destroy();
      await proxy?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
