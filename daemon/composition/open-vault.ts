import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { type ByteCache, createByteCache } from "../../storage/cache/byte-cache.ts";
import type { ProviderDeps, ServerSettings } from "../../storage/cloud/provider.ts";
import { cloudProviderTypes } from "../../storage/cloud/registry.ts";
import { identifyDirectory } from "../../storage/data-directory.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { createPartFiles } from "../../storage/part-files.ts";
import { getCacheLimit } from "../../storage/tables/vault/analysis-settings.ts";
import { closeAll, collect } from "../feature.ts";
import { bindRoutes } from "../http/bind.ts";
import { scaleAccountLimits } from "../http/limits.ts";
import type { MountedApi, PartHandler } from "../http/server.ts";
import { createGuardedRequest } from "../outbound/guarded-request.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import type { OpenForgeSide } from "../people/forge-side.ts";
import type { Settings } from "../settings/settings.ts";
import { createUuid7 } from "../utilities/uuid7.ts";
import { accountRoutes } from "../vault/accounts/accounts.routes.ts";
import { adminRoutes } from "../vault/admin/admin.routes.ts";
import { createVaultAdministration } from "../vault/admin/admin.ts";
import { jobRoutes } from "../vault/admin/jobs.routes.ts";
import { createJobAdministration } from "../vault/admin/jobs.service.ts";
import { createVaultAi } from "../vault/ai/ai.feature.ts";
import { createVaultAnalysis } from "../vault/analysis/analysis.feature.ts";
import { createProcessingRequest } from "../vault/analysis/document-processing.ts";
import { createVaultApi } from "../vault/api.ts";
import { createCloudFeature } from "../vault/cloud/cloud.feature.ts";
import { createSharedLocks } from "../jobs/shared-locks.ts";
import { createVaultDav } from "../vault/dav/dav.feature.ts";
import { createVaultDocuments } from "../vault/documents/documents.feature.ts";
import type { VaultFeature } from "../vault/feature.ts";
import { createVaultInbox } from "../vault/inbox/inbox.feature.ts";
import { createVaultLinks } from "../vault/links/links.feature.ts";
import { createVaultSearch } from "../vault/search/search.feature.ts";
import { createIndexRebuild } from "../vault/search/semantic-index.ts";
import { vaultTasks } from "../vault/tasks.ts";
import { createVaultThumbnails } from "../vault/thumbnails/thumbnails.feature.ts";
import { openAuditChain, openDailyExports } from "./daily-exports.ts";
import { createTaskRunner, type TaskRunner } from "./lazy.ts";
import { openProvider } from "./sign-in.ts";
import { createVaultPeople, openGuardedDispatcher } from "./people.ts";
import type { ServiceDeps } from "./services.ts";
import type { TransportTools } from "./transport-tools.ts";
import { createVaultPages } from "./vault-pages.ts";

/** Memory for small cached files. */
const CACHE_MEMORY_BYTES = 32 * 1024 * 1024;
/** How long idle connections to vendors are kept alive for the next request. */
const VENDOR_KEEP_ALIVE_MS = 30_000;

/** The limit of most routes as they are declared, which the setting replaces. */
const REQUESTS_PER_MINUTE = 100;

/** Requests of WebDAV for one of the API: a client lists, locks and looks around each file. */
const DAV_REQUESTS = 60;

/** The vault: accounts, connected storage and administration. */
export interface OpenedVault extends TaskRunner {
  /** The API, and the same for the scripts of the vault's pages. */
  readonly surfaces: Readonly<Record<"vault" | "vault_pages", MountedApi>>;
  readonly servePage: PartHandler;
  readonly serveDav: PartHandler;
  /** Starts background work: reconciles index and files of the byte cache. */
  start(): void;
  close(): Promise<void>;
}

export interface VaultDeps extends ServiceDeps {
  readonly mailer: Mailer;
  readonly objects: ObjectStore;
  readonly tools: TransportTools;
  readonly openForgeSide: OpenForgeSide;
}

/** Opens the vault: its byte cache and its features; binds their routes and registers their jobs. */
export async function openVault(deps: VaultDeps): Promise<OpenedVault> {
  const { input, queue } = deps;
  const accounts = createVaultPeople(deps, deps.mailer);
  const { features, recovered, serveDav, findInvitation } = await createVaultFeatures(
    deps,
    accounts,
  );
  for (const service of recovered) await service.recover();
  for (const job of collect(features, "jobs")) queue.register(job);
  const routes = scaleAccountLimits(
    collect(features, "routes"),
    input.settings.cloudRequestsPerMinute / REQUESTS_PER_MINUTE,
  );
  const api = createVaultApi(accounts.authentication);
  const provider = openProvider(deps);
  const pages = createVaultPages({ ...deps, provider }, { accounts, api, routes, findInvitation });
  return {
    surfaces: {
      vault: { api, handle: bindRoutes(api, routes, deps.tools.binder) },
      vault_pages: pages.surface,
    },
    servePage: pages.servePage,
    serveDav,
    runTask: createTaskRunner(Object.values(vaultTasks), collect(features, "tasks")),
    start() {
      for (const feature of features) feature.start?.();
    },
    close: () => closeAll([...features, pages, ...(provider === undefined ? [] : [provider])]),
  };
}

/** The features of the vault: a new one is an entry of `features`. */
async function createVaultFeatures(
  deps: VaultDeps,
  accounts: ReturnType<typeof createVaultPeople>,
) {
  const { db, input, stores, addresses, queue, log } = deps;
  const { settings, clock } = input;
  const { directory, keyring } = stores;
  const { enqueue } = queue;
  // A listing creates ids by the ten thousand.
  const newId = createUuid7(clock, randomBytes);
  const cache = await openByteCache(deps, newId);
  const guarded = openGuardedDispatcher(deps);
  const direct = new Agent({ keepAliveTimeout: VENDOR_KEEP_ALIVE_MS });
  const core = {
    db,
    clock,
    randomBytes,
    log,
    jobs: queue,
    enqueue,
    keys: keyring,
    store: deps.objects,
    publicUrl: addresses.publicUrl,
    uploadBytesMax: settings.maxUploadBytes,
    partFiles: createPartFiles(settings.uploadsDir),
  };
  const cloud = createCloudFeature({
    ...core,
    newId,
    random: Math.random,
    providerTypes: cloudProviderTypes,
    providerDeps: await createProviderDeps(deps, { newId, guarded, direct }),
    cache,
    listingMaxAgeMs: settings.listingMaxAgeSeconds * 1000,
    temporaryDirectory: directory.tmp,
    defaultCacheBytes: settings.byteCacheBytes,
  });
  const ai = createVaultAi({
    ...core,
    request: createGuardedRequest(guarded),
    onEmbeddingsChanged: createIndexRebuild(enqueue),
  });
  const search = createVaultSearch({ ...core, ...ai.services });
  const documents = createVaultDocuments({
    ...core,
    newId: deps.newId,
    storedFiles: cloud.services.storedFiles,
    trashDays: settings.trashDays,
    versionsKept: settings.documentVersions,
    enqueueProcessing: createProcessingRequest(enqueue),
    queueMail: settings.smtpUrl === undefined ? undefined : deps.mailer.queueMail,
    queueInvitation: deps.mailer.queueMail,
    registration: accounts.registration,
    inviting: settings.vaultInvitations,
    instanceName: settings.instanceName,
  });
  const links = createVaultLinks({
    ...core,
    ...cloud.services,
    ...documents.services,
    newId: deps.newId,
    hasher: deps.hasher,
    limiter: deps.limiter,
    queueMail: deps.mailer.queueMail,
    sendsMail: settings.smtpUrl !== undefined,
    instanceName: settings.instanceName,
    isEnabled: settings.links,
  });
  const dav = createVaultDav({
    ...core,
    ...cloud.services,
    ...documents.services,
    uploads: cloud.services.uploads,
    documentUploads: documents.services.uploads,
    newId: deps.newId,
    authentication: accounts.authentication,
    transport: deps.tools.binder,
    limiter: deps.limiter,
    requestsPerMinute: settings.cloudRequestsPerMinute * DAV_REQUESTS,
  });
  const administration = createVaultAdministration({
    ...core,
    settings,
    newId: deps.newId,
    dailyExports: openDailyExports(deps),
    auditChain: openAuditChain(deps),
    resetMails: accounts.resetMails,
    invitationLinks: accounts.invitationLinks,
    releaseStorages: cloud.services.connections.releaseAll,
    localFolders: cloud.services.localFolders,
  });
  const untrusted = {
    tmp: directory.tmp,
    newId,
    program: input.scriptProgram ?? [process.execPath],
  };
  const features: readonly VaultFeature[] = [
    { close: () => direct.destroy() },
    { close: () => guarded.destroy() },
    toCacheFeature(cache, log),
    { routes: accountRoutes(accounts), jobs: [accounts.resetMails.job] },
    { routes: adminRoutes(administration) },
    { routes: jobRoutes(createJobAdministration({ db, queue })) },
    cloud,
    documents,
    links,
    dav,
    createVaultInbox({
      ...core,
      uploads: documents.services.uploads,
      folder: join(directory.root, "inbox"),
      isEnabled: settings.inbox,
    }),
    createVaultThumbnails({ ...core, ...documents.services, drawing: untrusted }),
    search,
    ai,
    createVaultAnalysis({
      ...core,
      ...cloud.services,
      ...ai.services,
      ...search.services,
      extraction: { ...untrusted, recognizesText: settings.ocr, clock },
    }),
  ];
  return {
    features,
    recovered: [documents.services.uploads, links.services.visits],
    serveDav: dav.services.serveDav,
    findInvitation: documents.services.invitations.find,
  };
}

function openByteCache(
  { db, input, stores, log }: VaultDeps,
  newId: () => string,
): Promise<ByteCache> {
  const { settings, clock } = input;
  return createByteCache({
    db,
    folder: stores.directory.cache,
    clock,
    newId,
    limitOf: (userId) => getCacheLimit(db, userId, settings.byteCacheBytes),
    memoryBytes: CACHE_MEMORY_BYTES,
    onError: (error, task) => log.warn({ err: error }, `byte cache: ${task} failed`),
  });
}

/** Local copies of files of connected storages; index and files are reconciled at the start and each night. */
function toCacheFeature(cache: ByteCache, log: VaultDeps["log"]): VaultFeature {
  return {
    tasks: [{ ...vaultTasks.reconcile_byte_cache, run: () => cache.reconcile() }],
    start() {
      cache
        .reconcile()
        .catch((error: unknown) => log.warn({ err: error }, "failed to reconcile the byte cache"));
    },
    close: () => cache.close(),
  };
}

async function createProviderDeps(
  { input, stores, db, log }: VaultDeps,
  own: Pick<ProviderDeps, "newId" | "guarded" | "direct">,
): Promise<ProviderDeps> {
  const { settings, clock } = input;
  return {
    ...own,
    clock,
    sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
    server: toServerSettings(settings),
    localRoots: settings.localRoots,
    ownFolders: [stores.directory.root],
    home: await identifyDirectory(stores.directory, randomUUID),
    locks: createSharedLocks({ db, clock, newId: own.newId, log }),
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
