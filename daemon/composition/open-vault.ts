import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { createByteCache } from "../../storage/cache/byte-cache.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import type { ServerSettings } from "../../storage/cloud/provider.ts";
import { cloudProviderTypes } from "../../storage/cloud/registry.ts";
import { createLocks } from "../../storage/locks.ts";
import { identifyDirectory } from "../../storage/data-directory.ts";
import { createPartFiles } from "../../storage/part-files.ts";
import { getCacheLimit } from "../../storage/tables/vault/analysis-settings.ts";
import type { Settings } from "../settings/settings.ts";
import { bindRoutes } from "../http/bind.ts";
import type { MountedApi } from "../http/server.ts";
import { scaleAccountLimits } from "../http/limits.ts";
import { createGuardedRequest } from "../outbound/guarded-request.ts";
import { createUuid7 } from "../utilities/uuid7.ts";
import { accountRoutes } from "../vault/accounts/accounts.routes.ts";
import { createVaultApi } from "../vault/api.ts";
import { vaultTasks } from "../vault/tasks.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import { createTaskRunner, type TaskRunner } from "./lazy.ts";
import { createVaultPeople, openGuardedDispatcher } from "./people.ts";
import type { TransportTools } from "./transport-tools.ts";
import { adminRoutes } from "../vault/admin/admin.routes.ts";
import { createVaultAdministration } from "../vault/admin/admin.ts";
import { jobRoutes } from "../vault/admin/jobs.routes.ts";
import { createJobAdministration } from "../vault/admin/jobs.service.ts";
import { openDailyExports } from "./daily-exports.ts";
import { createAiConfig } from "../vault/ai/ai-config.service.ts";
import { aiRoutes } from "../vault/ai/ai.routes.ts";
import { createEmbedder } from "../vault/ai/embedder.ts";
import { createModelClassifier } from "../vault/ai/model-classifier.ts";
import { createAiClient } from "../vault/ai/provider-client.ts";
import { cloudRoutes, createCloud } from "../vault/cloud/cloud.ts";
import {
  createDocumentProcessing,
  createProcessingRequest,
} from "../vault/analysis/document-processing.ts";
import { createItemProcessing } from "../vault/analysis/item-processing.ts";
import { createTextExtractor } from "../vault/analysis/text-extractor.ts";
import { createTopicChooser } from "../vault/analysis/topic-chooser.ts";
import { searchRoutes } from "../vault/search/search.routes.ts";
import { createSearch } from "../vault/search/search.service.ts";
import { createIndexRebuild, createSemanticIndex } from "../vault/search/semantic-index.ts";
import { createSemanticSearch } from "../vault/search/semantic-search.ts";
import { createVaultDocuments } from "../vault/documents/documents.ts";
import type { ServiceDeps } from "./services.ts";

/** Memory for small cached files. */
const CACHE_MEMORY_BYTES = 32 * 1024 * 1024;
/** How long idle connections to vendors are kept alive for the next request. */
const VENDOR_KEEP_ALIVE_MS = 30_000;

/** The limit of most routes as they are declared, which the setting replaces. */
const REQUESTS_PER_MINUTE = 100;

/** The vault: accounts, connected storage and administration. */
export interface OpenedVault extends TaskRunner {
  readonly surface: MountedApi;
  /** Returns whether the token of a password reset link can still be used. */
  readonly isResetLinkUsable: (token: string) => Promise<boolean>;
  /** Starts background work: reconciles index and files of the byte cache. */
  start(): void;
  close(): Promise<void>;
}

export interface VaultDeps extends ServiceDeps {
  readonly mailer: Mailer;
  readonly objects: ObjectStore;
  readonly tools: TransportTools;
}

/** Opens the vault: its byte cache, its services, its routes and its jobs. */
export async function openVault(deps: VaultDeps): Promise<OpenedVault> {
  const { db, input, stores, addresses, queue, log } = deps;
  const accounts = createVaultPeople(deps, deps.mailer);
  const { settings, clock } = input;
  const { directory } = stores;
  // A listing creates ids by the ten thousand.
  const newId = createUuid7(clock, randomBytes);
  const cache = await createByteCache({
    db,
    folder: directory.cache,
    clock,
    newId,
    limitOf: (userId) => getCacheLimit(db, userId, settings.byteCacheBytes),
    memoryBytes: CACHE_MEMORY_BYTES,
    onError: (error, task) => log.warn({ err: error }, `byte cache: ${task} failed`),
  });
  const guarded = openGuardedDispatcher(deps);
  const direct = new Agent({ keepAliveTimeout: VENDOR_KEEP_ALIVE_MS });
  const cloud = createCloud({
    db,
    clock,
    random: Math.random,
    randomBytes,
    newId,
    keys: stores.keyring,
    providerTypes: cloudProviderTypes,
    providerDeps: {
      clock,
      newId,
      sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
      server: toServerSettings(settings),
      localRoots: settings.localRoots,
      ownFolders: [directory.root],
      home: await identifyDirectory(directory, randomUUID),
      guarded,
      direct,
      locks: createLocks(),
    },
    cache,
    jobs: queue,
    log,
    listingMaxAgeMs: settings.listingMaxAgeSeconds * 1000,
    temporaryDirectory: directory.tmp,
    partFiles: createPartFiles(directory.uploads),
    uploadBytesMax: settings.maxUploadBytes,
    defaultCacheBytes: settings.byteCacheBytes,
    publicUrl: addresses.publicUrl,
  });
  const dailyExports = openDailyExports(deps);
  const administration = createVaultAdministration({
    db,
    clock,
    dailyExports,
    newId: deps.newId,
    resetMails: accounts.resetMails,
    releaseStorages: cloud.connections.releaseAll,
    localFolders: cloud.localFolders,
    settings,
  });
  const aiClient = createAiClient({ request: createGuardedRequest(guarded), clock });
  const aiConfig = createAiConfig({
    db,
    keys: stores.keyring,
    client: aiClient,
    onEmbeddingsChanged: createIndexRebuild(queue.enqueue),
  });
  const embedder = createEmbedder({ config: aiConfig, client: aiClient });
  const index = createSemanticIndex({ db, enqueue: queue.enqueue, embedder });
  for (const job of index.jobs) queue.register(job);
  const documents = createVaultDocuments({
    db,
    clock,
    randomBytes,
    newId: deps.newId,
    store: deps.objects,
    storedFiles: cloud.storedFiles,
    uploadBytesMax: settings.maxUploadBytes,
    trashDays: settings.trashDays,
    versionsKept: settings.documentVersions,
    enqueueProcessing: createProcessingRequest(queue.enqueue),
    publicUrl: addresses.publicUrl,
    log,
  });
  await documents.uploads.recover();
  const extractor = createTextExtractor({
    tmp: directory.tmp,
    newId,
    program: input.scriptProgram ?? [process.execPath],
    recognizesText: settings.ocr,
  });
  const model = createModelClassifier({ config: aiConfig, client: aiClient, clock, log });
  const topics = createTopicChooser({ db, model });
  queue.register(
    createDocumentProcessing({
      db,
      store: deps.objects,
      files: cloud.storedFiles,
      extractor,
      topics,
      index,
    }),
  );
  queue.register(createItemProcessing({ db, bytes: cloud.bytes, extractor, topics, index }));
  queue.register(accounts.resetMails.job);
  const routes = scaleAccountLimits(
    [
      ...accountRoutes(accounts),
      ...adminRoutes(administration),
      ...cloudRoutes(cloud),
      ...documents.routes,
      ...searchRoutes(createSearch({ db, semantic: createSemanticSearch({ db, embedder }) })),
      ...aiRoutes(aiConfig),
      ...jobRoutes(createJobAdministration({ db, queue })),
    ],
    settings.cloudRequestsPerMinute / REQUESTS_PER_MINUTE,
  );
  const api = createVaultApi(accounts.authentication);
  return {
    surface: { api, app: bindRoutes(api, routes, deps.tools.binder) },
    isResetLinkUsable: (token) => accounts.passwords.isUsable(token),
    runTask: createTaskRunner(Object.values(vaultTasks), [
      ...documents.tasks,
      {
        ...vaultTasks.reconcile_byte_cache,
        run: () => cache.reconcile(),
      },
    ]),
    start: () => {
      cache
        .reconcile()
        .catch((error: unknown) => log.warn({ err: error }, "failed to reconcile the byte cache"));
      cloud
        .recover()
        .catch((error: unknown) => log.warn({ err: error }, "failed to recover connections"));
    },
    async close(): Promise<void> {
      await extractor.close();
      await cloud.close();
      await cache.close();
      await Promise.all([guarded.destroy(), direct.destroy()]);
    },
  };
}

/** Returns the settings that adapters may read. */
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
