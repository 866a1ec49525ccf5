import { hash, randomBytes, randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { createByteCache, type ByteCache } from "../../storage/cache/byte-cache.ts";
import type { ServerSettings } from "../../storage/cloud/provider.ts";
import { cloudProviderTypes } from "../../storage/cloud/registry.ts";
import { createTurns } from "../../storage/cloud/turns.ts";
import type { DataDirectory } from "../../storage/data-directory.ts";
import type { Database } from "../../storage/engine/database.ts";
import type { Keyring } from "../../storage/keys/keyring.ts";
import { getCacheLimit } from "../../storage/tables/vault/analysis-settings.ts";
import type { Settings } from "../settings/settings.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../utilities/logging.ts";
import { createAddressCheck, type Listener } from "../outbound/address-policy.ts";
import { createGuardedDispatcher } from "../outbound/guarded-request.ts";
import { machineAddresses } from "../outbound/machine-addresses.ts";
import { createRandomPool } from "../utilities/random-pool.ts";
import { createUuid7 } from "../utilities/uuid7.ts";
import { createCloud, type Cloud } from "../vault/cloud/cloud.ts";

/** What the cloud side needs of the daemon. */
export interface CloudSurroundings {
  readonly db: Database;
  readonly settings: Settings;
  readonly directory: DataDirectory;
  readonly keys: Keyring;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Base of the links that are handed out, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The daemon's own addresses, which nobody may be made to call. */
  readonly ownAddresses: () => readonly Listener[];
}

/** The cloud side with its cache. */
export interface OpenCloud {
  readonly cloud: Cloud;
  readonly cache: ByteCache;
  /** Begins the work beside requests: index and files of the cache are made to agree. */
  start(): void;
  close(): Promise<void>;
}

/** Memory for small cached files. */
const CACHE_MEMORY_BYTES = 32 * 1024 * 1024;
/** Vendors' connections are kept for the next request of the same person. */
const VENDOR_KEEP_ALIVE_MS = 30_000;

/** Opens the byte cache and builds the cloud side on it. */
export async function openCloud(around: CloudSurroundings): Promise<OpenCloud> {
  const { db, settings, directory, log, clock } = around;
  // A listing makes ids by the ten thousand.
  const newId = createUuid7(clock, createRandomPool(randomBytes));
  const cache = await createByteCache({
    db,
    folder: directory.cache,
    clock,
    newId,
    limitOf: (userId) => getCacheLimit(db, userId, settings.byteCacheBytes),
    memoryBytes: CACHE_MEMORY_BYTES,
    onError: (error, what) => log.warn({ err: error }, `byte cache: ${what} failed`),
  });
  const check = createAddressCheck({
    policy: settings.addressPolicy,
    own: around.ownAddresses,
    machine: machineAddresses,
  });
  const guarded = createGuardedDispatcher({ check });
  const direct = new Agent({ keepAliveTimeout: VENDOR_KEEP_ALIVE_MS });
  const cloud = createCloud({
    db,
    clock,
    random: around.random,
    randomBytes,
    newId,
    keys: around.keys,
    providerTypes: cloudProviderTypes,
    providerDeps: {
      clock,
      newId,
      sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
      server: toServerSettings(settings),
      localRoots: settings.localRoots,
      ownFolders: [directory.root],
      home: await nameHome(directory),
      guarded,
      direct,
      turns: createTurns(),
    },
    cache,
    jobs: around.jobs,
    log,
    listingMaxAgeMs: settings.listingMaxAgeSeconds * 1000,
    temporaryDirectory: directory.tmp,
    defaultCacheBytes: settings.byteCacheBytes,
    publicUrl: around.publicUrl,
  });
  return {
    cloud,
    cache,
    start: () => {
      cache
        .reconcile()
        .catch((error: unknown) => log.warn({ err: error }, "byte cache: reconciling failed"));
    },
    async close() {
      await cloud.close();
      await cache.close();
      await Promise.all([guarded.destroy(), direct.destroy()]);
    },
  };
}

/** A name for a data directory that no other one has, and that it keeps. */
async function nameHome({ root }: DataDirectory): Promise<string> {
  const { ino, birthtimeNs } = await stat(root, { bigint: true });
  // Where nobody remembers when a folder was made, each start is taken for another daemon.
  const born = birthtimeNs === 0n ? randomUUID() : String(birthtimeNs);
  return hash("sha256", `${ino} ${born}`).slice(0, 16);
}

/** The settings that adapters may ask for by name. */
function toServerSettings(settings: Settings): ServerSettings {
  return {
    googleClientId: settings.googleClientId,
    googleClientSecret: settings.googleClientSecret,
    googleBaseUrl: settings.googleBaseUrl,
    onedriveClientId: settings.onedriveClientId,
    onedriveClientSecret: settings.onedriveClientSecret,
    onedriveTenantId: settings.onedriveTenantId,
    onedriveBaseUrl: settings.onedriveBaseUrl,
    dropboxClientId: settings.dropboxClientId,
    dropboxClientSecret: settings.dropboxClientSecret,
    dropboxBaseUrl: settings.dropboxBaseUrl,
  };
}
