import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getGlobalDispatcher } from "undici";
import { createJobQueue, type JobQueue } from "../../../daemon/jobs/queue.ts";
import type { Log } from "../../../daemon/utilities/logging.ts";
import { createUuid7 } from "../../../daemon/utilities/uuid7.ts";
import type { VaultCaller } from "../../../daemon/vault/caller.ts";
import {
  createCloud,
  type Cloud,
  type CloudDeps,
} from "../../../daemon/vault/cloud/cloud.feature.ts";
import { createByteCache, type ByteCache } from "../../../storage/cache/byte-cache.ts";
import type { CloudProviderType, ProviderDeps } from "../../../storage/cloud/provider.ts";
import { localFolder } from "../../../storage/cloud/local-folder/provider.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { createPartFiles } from "../../../storage/part-files.ts";
import { createKeyring } from "../../../storage/keys/keyring.ts";
import { getCacheLimit } from "../../../storage/tables/vault/analysis-settings.ts";
import { insertVaultUser } from "../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../storage/database.ts";
import { type ConnectionId, toAccountId } from "../../../storage/tables/vault/ids.ts";

/** The cloud side over a fresh database and a temporary folder, without HTTP. */
export interface TestCloud extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly db: Database;
  readonly cache: ByteCache;
  readonly queue: JobQueue;
  /** The own folder of the account mira. */
  readonly files: string;
  /** The byte cache's folder. */
  readonly cacheFolder: string;
  /** Epoch milliseconds; tests set it. */
  now: number;
  /** Adds a regular user. */
  addUser(handle: string): Promise<VaultCaller>;
  /** Connects a folder below the caller's own, see `files`. */
  connectFolder(caller: VaultCaller, folder?: string): Promise<ConnectionId>;
  /** Log lines of level error. */
  readonly errors: readonly unknown[];
  audit(): Promise<{ event_type: string; metadata: Record<string, unknown> }[]>;
}

export interface TestCloudOptions {
  readonly providerTypes?: readonly CloudProviderType[];
  readonly cacheBytes?: number;
  readonly db?: Database;
  /** Wraps the database: for failing commits. */
  readonly wrapDatabase?: (db: Database) => Database;
  readonly deps?: Partial<CloudDeps>;
}

/** Provider dependencies whose waits take no time. */
export function testProviderDeps(files: string, clock: () => number): ProviderDeps {
  let ids = 0;
  return {
    clock,
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
    sleep: async (_ms, signal) => signal?.throwIfAborted(),
    server: {},
    localRoots: [files],
    ownFolders: [],
    home: "home",
    guarded: getGlobalDispatcher(),
    direct: getGlobalDispatcher(),
    locks: createLocks(),
  };
}

/** Opens the cloud side for a test. */
export async function openTestCloud(options: TestCloudOptions = {}): Promise<TestCloud> {
  const home = await mkdtemp(join(tmpdir(), "croft-cloud-"));
  const localRoot = join(home, "files");
  const files = join(localRoot, "mira");
  const cacheFolder = join(home, "cache");
  const temporaryDirectory = join(home, "tmp");
  for (const folder of [files, cacheFolder, temporaryDirectory])
    await mkdir(folder, { recursive: true });
  const state = { now: Date.now() };
  const clock = () => state.now;
  const newId = createUuid7(clock, (size) => crypto.getRandomValues(new Uint8Array(size)));
  const opened = options.db ?? (await openTestDatabase({ clock }));
  const db = options.wrapDatabase?.(opened) ?? opened;
  const errors: unknown[] = [];
  const log = createTestLog(errors);
  const cache = await createByteCache({
    db: opened,
    folder: cacheFolder,
    clock,
    newId,
    limitOf: (userId) => getCacheLimit(opened, userId, options.cacheBytes ?? 512 * 1024 * 1024),
    memoryBytes: 4 * 1024 * 1024,
    onError: (error, what) => errors.push({ error, what }),
  });
  const queue = createJobQueue({
    db: opened,
    clock,
    random: () => 0.5,
    log,
    owner: "test",
    alone: true,
  });
  const cloud = createCloud({
    db,
    clock,
    random: () => 0.5,
    randomBytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
    newId,
    keys: createKeyring([{ version: 1, bytes: new Uint8Array(32).fill(7) }], (size) =>
      crypto.getRandomValues(new Uint8Array(size)),
    ),
    providerTypes: options.providerTypes ?? [localFolder],
    providerDeps: { ...testProviderDeps(localRoot, clock), ownFolders: [home], newId },
    cache,
    jobs: queue,
    log,
    listingMaxAgeMs: 300_000,
    temporaryDirectory,
    partFiles: createPartFiles(join(home, "uploads")),
    uploadBytesMax: 5 * 1024 ** 3,
    defaultCacheBytes: 512 * 1024 * 1024,
    publicUrl: () => "http://127.0.0.1:7420",
    ...options.deps,
  });
  for (const job of cloud.jobs) queue.register(job);
  const test: TestCloud = {
    cloud,
    db,
    cache,
    queue,
    files,
    cacheFolder,
    errors,
    get now() {
      return state.now;
    },
    set now(value) {
      state.now = value;
    },
    async addUser(handle) {
      const userId = toAccountId(newId());
      const email = `${handle}@example.org`;
      await opened.transaction((tx) =>
        insertVaultUser(tx, {
          id: userId,
          handle,
          email,
          passwordHash: "",
          role: "user",
          passwordMustChange: false,
        }),
      );
      return { userId, handle, email, role: "user", sessionId: newId(), address: "192.0.2.7" };
    },
    async connectFolder(caller, folder = ".") {
      const root = join(localRoot, caller.handle, folder);
      await mkdir(root, { recursive: true });
      const result = await cloud.connections.create(caller, {
        provider: "local_folder",
        display_name: "Files",
        settings: { root },
        credentials: {},
      });
      if (result.kind !== "connected") throw new Error(`not connected: ${JSON.stringify(result)}`);
      return result.connection.id;
    },
    async audit() {
      const rows = await opened.all<{ event_type: string; metadata: string }>(
        `SELECT event_type, metadata FROM vault_audit
         WHERE event_type NOT IN ('auth.registered', 'cloud.connection_created') ORDER BY id`,
      );
      return rows.map((row) => ({
        event_type: row.event_type,
        metadata: JSON.parse(row.metadata) as Record<string, unknown>,
      }));
    },
    async [Symbol.asyncDispose]() {
      await cloud.close();
      await cache.close();
      if (options.db === undefined) await opened.close();
      await rm(home, { recursive: true, force: true });
    },
  };
  return test;
}

/** A log that keeps the facts of errors. */
export function createTestLog(errors: unknown[]): Log {
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (facts: unknown) => errors.push(facts),
    fatal: (facts: unknown) => errors.push(facts),
    child: () => log,
    isLevelEnabled: () => false,
  };
  return log;
}
