import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "undici";
import {
  createBucketObjects,
  type BucketObjects,
  type BucketObjectsDeps,
} from "../../../storage/objects/bucket-objects.ts";
import type { ObjectStoreSubject } from "../../conformance/object-store.suite.ts";
import type { ObjectDamage } from "../../../storage/objects/verified-reads.ts";
import { flipBit } from "../../conformance/object-store.suite.ts";
import { startS3Server, type S3Server, type S3ServerOptions } from "../../stand-ins/s3-server.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";

/** Parts of 64 KiB, so that small files are sent in parts. */
const SMALL_BUCKET_LIMITS = { partBytes: 64 * 1024, partsMax: 10_000, partsAtOnce: 2 };

/** Lengths around which uploads take another way with `SMALL_BUCKET_LIMITS`. */
export const SMALL_BUCKET_SIZES = [0, 1, 65_535, 65_536, 65_537, 131_072, 300_001];

/** A bucket of the stand-in with two daemons' stores on it. */
export interface BucketSubject extends ObjectStoreSubject {
  readonly store: BucketObjects;
  readonly other: BucketObjects;
  readonly server: S3Server;
  /** Lies before the server, for the first store. */
  readonly proxy: FaultProxy;
  readonly root: string;
  /** The requested waits in milliseconds. */
  readonly waits: readonly number[];
  /** Another store on the same bucket, directly or by way of another address. */
  connect(changes?: Partial<BucketObjectsDeps>, endpoint?: string): BucketObjects;
}

export interface BucketSubjectOptions {
  readonly server?: S3ServerOptions;
  readonly root?: string;
}

/** Starts all of it. The server's clock is the daemons', unless `server` has one. */
export async function openBucketSubject(
  options: BucketSubjectOptions = {},
): Promise<BucketSubject> {
  const state = { now: Date.parse("2026-11-21T12:00:00Z") };
  const clock = () => state.now;
  const tmp = await mkdtemp(join(tmpdir(), "croft-objects-"));
  const server = await startS3Server({
    pageEntries: 3,
    partBytesMin: 1024,
    clock,
    ...options.server,
  });
  const proxy = await startFaultProxy({
    target: server.origin,
    isDownload: ({ method, path }) => method === "GET" && !path.includes("?"),
  });
  const agent = new Agent();
  const { root = "" } = options;
  const address = {
    region: server.region,
    bucket: server.bucket,
    isPathStyle: true,
    keys: {
      accessKeyId: server.key.id,
      secretAccessKey: server.key.secret,
      sessionToken: undefined,
    },
  };
  const waits: number[] = [];
  const stores: BucketObjects[] = [];
  const damages: ObjectDamage[] = [];
  const connect: BucketSubject["connect"] = (changes, endpoint = server.origin) => {
    const store = createBucketObjects({
      address: { ...address, endpoint },
      root,
      limits: SMALL_BUCKET_LIMITS,
      dispatcher: agent,
      retries: { sleep: async (ms) => void waits.push(ms), random: () => 0.5 },
      clock,
      tmp,
      newId: () => crypto.randomUUID(),
      onDamaged: (damage) => damages.push(damage),
      ...changes,
    });
    stores.push(store);
    return store;
  };
  const other = connect();
  const store = connect({}, proxy.origin);
  return {
    store,
    other,
    server,
    proxy,
    root,
    waits,
    connect,
    damages,
    async damage(sha256) {
      for (const { key, version, isLatest } of server.store.versions(`${root}objects/${sha256}/`))
        if (isThere({ key, version, isLatest }))
          server.store.put(key, flipBit(version.bytes), version.headers);
    },
    quarantined: async () =>
      server.store
        .versions(`${root}quarantine/`)
        .filter(isThere)
        .map(({ key }) => key.slice(`${root}quarantine/`.length).slice(0, 64)),
    now: clock,
    age: async (ms) => void (state.now += ms),
    copies: async (sha256) =>
      server.store.versions(`${root}objects/${sha256}/`).filter(isThere).length,
    async waiting() {
      const uploads = [...server.store.uploads.values()].map(({ key }) => `upload of ${key}`);
      const probes = server.store.versions(`${root}probe/`).filter(isThere);
      return [...(await readdir(tmp)), ...uploads, ...probes.map(({ key }) => key)];
    },
    async [Symbol.asyncDispose]() {
      for (const one of stores) one.close();
      await agent.destroy();
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await rm(tmp, { recursive: true, force: true });
    },
  };
}

/** Returns whether a listing shows the version; listings omit former versions. */
function isThere({
  version,
  isLatest,
}: ReturnType<S3Server["store"]["versions"]>[number]): boolean {
  return isLatest && !version.isMarker;
}
