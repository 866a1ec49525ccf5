import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createGit } from "../../storage/git/git.ts";
import type { Addresses } from "./addresses.ts";
import { peopleRoutes } from "../forge/accounts/accounts.ts";
import { actionRoutes } from "../forge/actions/actions.routes.ts";
import { createActions } from "../forge/actions/actions.service.ts";
import { createForgeApi } from "../forge/api.ts";
import type { ForgeCaller } from "../forge/caller.ts";
import { cronRoutes } from "../forge/cron/cron.routes.ts";
import { createCronTasks } from "../forge/cron/cron.service.ts";
import { hookRoutes } from "../forge/hooks/hooks.routes.ts";
import { repositoryHookRoutes } from "../forge/hooks/repository-hooks.routes.ts";
import { createMiscellaneous } from "../forge/miscellaneous.ts";
import { createGitApi, isGitPath } from "../forge/git/git-api.ts";
import { createPackageEvents } from "../forge/packages/announcing.ts";
import { createForgePackages } from "../forge/packages/packages.ts";
import { createPackagesApi, isPackagePath } from "../forge/packages/packages-api.ts";
import {
  bindRoutes,
  type BinderOptions,
  type RateLimiter,
  type RequestReport,
} from "../http/bind.ts";
import type { Api, Route } from "../http/handle.ts";
import { createClientAddress } from "../http/client-address.ts";
import { withCors } from "../http/cors.ts";
import { createMetrics } from "../http/metrics.ts";
import { createNodeHandler, type NodeHandler } from "../http/server.ts";
import { createServerRequest } from "../http/server-request.ts";
import type { Log } from "../utilities/logging.ts";
import type { DaemonInput } from "../main.ts";
import { openCloud } from "./cloud.ts";
import { openHooks } from "./hooks.ts";
import { openNotifications } from "./notifications.ts";
import { openObjects, type OpenObjects } from "./objects.ts";
import { openRepositories } from "./repositories.ts";
import { createPages } from "./pages.ts";
import { scheduledTasks } from "./scheduled-tasks.ts";
import { createPeople, type ServiceDeps } from "./services.ts";
import type { Stores } from "./stores.ts";
import { createUuid7 } from "../utilities/uuid7.ts";
import { accountRoutes } from "../vault/accounts/accounts.routes.ts";
import { createVaultAdministration } from "../vault/admin/admin.ts";
import { adminRoutes } from "../vault/admin/admin.routes.ts";
import { createDailyExports } from "../vault/admin/daily-exports.ts";
import { createVaultApi } from "../vault/api.ts";
import type { VaultCaller } from "../vault/caller.ts";
import { cloudRoutes } from "../vault/cloud/cloud.ts";

/** How long running jobs may take to notice that the daemon stops. */
const JOBS_GRACE_MS = 5_000;

/** Both APIs as one request handler, and the work that goes on beside requests. */
export interface Composed {
  readonly handler: NodeHandler;
  /** Begins the work beside requests: jobs and schedules. */
  start(): Promise<void>;
  /** From here on connections are not kept and `/readyz` says no. */
  beginStop(): void;
  /** Ends the work beside requests; what was under way goes back to its queue. */
  stop(): Promise<void>;
}

/** An address of the forge may have more than one slash wherever it has one (forge behaviour, 1.1). */
function inAnyForm(owns: (path: string) => boolean): (path: string) => boolean {
  return (path) => owns(path.includes("//") ? path.replace(/\/{2,}/g, "/") : path);
}

function isForgePath(path: string): boolean {
  return (
    path.startsWith("/api/v1/") ||
    path === "/api/v1" ||
    path.startsWith("/avatars/") ||
    path.startsWith("/assets/img/emoji/")
  );
}

/** Joins services, routes and transport. Nothing listens yet, and no job runs. */
export async function compose(deps: ServiceDeps): Promise<Composed> {
  const { input, stores, addresses, queue, log } = deps;
  const { clock, settings } = input;
  const objects = await openObjects({
    db: deps.db,
    settings,
    directory: stores.directory,
    log,
    clock,
    random: Math.random,
    newId: createUuid7(clock, randomBytes),
  });
  const git = createGit({ searchPath: process.env["PATH"] ?? "" });
  const { hooks, close: closeHooks } = openHooks({
    db: deps.db,
    clock,
    random: Math.random,
    newUuid: randomUUID,
    sealer: stores.keyring,
    jobs: queue,
    urls: { publicUrl: addresses.publicUrl },
    addressPolicy: settings.addressPolicy,
    ownAddresses: addresses.own,
    git,
    locate: (repository) => repositories.repositories.locate(repository),
  });
  const notifications = openNotifications({
    db: deps.db,
    jobs: queue,
    git,
    locate: (repository) => repositories.repositories.locate(repository),
    urls: { publicUrl: addresses.publicUrl },
    clock,
    warn: (message, cause) => log.warn({ err: cause }, message),
    idleMs: settings.idleTimeoutSeconds * 1000,
    announce: hooks.announce,
    otherEvents: hooks.repositoryEvents,
  });
  const people = createPeople({
    ...deps,
    announceOrganization: hooks.announce.organizationCreated,
  });
  const { forge, vault, limiter, newId, mailer } = people;
  const cloud = await openCloud({
    db: deps.db,
    settings,
    directory: stores.directory,
    keys: stores.keyring,
    jobs: queue,
    log,
    clock,
    random: Math.random,
    publicUrl: addresses.publicUrl,
    ownAddresses: addresses.own,
  });
  const dailyExports = createDailyExports({
    db: deps.db,
    clock,
    folder: stores.directory.exports,
    temporaryFolder: stores.directory.tmp,
    keptDays: settings.auditExportDays,
  });
  const administration = createVaultAdministration({
    db: deps.db,
    clock,
    dailyExports,
    newId,
    resetMails: vault.resetMails,
    releaseStorages: cloud.cloud.connections.releaseAll,
    settings,
  });
  const miscellaneous = createMiscellaneous({
    db: deps.db,
    random: randomBytes,
    publicUrl: addresses.publicUrl,
    dataDirectory: stores.directory.root,
    addressKey: limiter.addressKey,
    warn: (message) => log.warn(message),
    reportBug: (error) => log.error({ err: error }, "rendering failed"),
  });
  const repositories = await openRepositories({
    db: deps.db,
    directory: settings.repositoriesDir,
    searchPath: process.env["PATH"] ?? "",
    pushBytesMax: settings.maxUploadBytes,
    templates: miscellaneous.templates,
    jobs: queue,
    urls: forge.urls,
    log,
    clock,
    newId,
    events: notifications.repositoryEvents,
  });
  const packages = createForgePackages({
    db: deps.db,
    store: objects.store,
    events: createPackageEvents(hooks.announce, forge.urls),
    urls: forge.urls,
    clock,
    uploadBytesMax: settings.maxUploadBytes,
  });
  queue.register(vault.resetMails.job);
  queue.register(mailer.job);
  const cron = createCronTasks({
    db: deps.db,
    clock,
    queue,
    log,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    tasks: scheduledTasks({
      packages,
      auditExports: dailyExports,
      db: deps.db,
      directory: stores.directory,
      clock,
      limiter,
      sessions: vault.sessions,
      hookLog: hooks.log,
      cache: cloud.cache,
      git,
      locate: (repository) => repositories.repositories.locate(repository),
    }),
  });
  const forgeApi = createForgeApi({ db: deps.db, ...forge });
  const transport = createTransport(deps, limiter, {
    forge: {
      api: forgeApi,
      routes: [
        ...peopleRoutes(forge),
        ...repositories.routes,
        ...packages.routes,
        ...hookRoutes(hooks),
        ...repositoryHookRoutes(hooks),
        ...notifications.routes,
        ...cronRoutes(cron),
        ...actionRoutes(createActions({ db: deps.db, clock, random: randomBytes })),
        ...miscellaneous.routes,
      ],
    },
    packages: { api: createPackagesApi(forgeApi), routes: packages.registryRoutes },
    git: { api: createGitApi(forgeApi), routes: repositories.gitRoutes },
    vault: {
      api: createVaultApi(vault.authentication),
      routes: [
        ...accountRoutes(vault),
        ...adminRoutes(administration),
        ...cloudRoutes(cloud.cloud),
      ],
    },
    objects,
  });
  return {
    ...transport,
    beginStop: () => {
      transport.beginStop();
      notifications.closeStreams();
    },
    start: async () => {
      await queue.start();
      await cron.start();
      cloud.start();
    },
    stop: async () => {
      await queue.stop(JOBS_GRACE_MS);
      await closeHooks();
      await cloud.close();
      await miscellaneous.close();
      await objects.close();
    },
  };
}

interface ApiParts<Caller> {
  readonly api: Api<Caller>;
  readonly routes: readonly Route[];
}

function createTransport(
  { db, input, stores, addresses, log }: ServiceDeps,
  limiter: RateLimiter,
  {
    forge,
    packages,
    git,
    vault,
    objects,
  }: {
    readonly forge: ApiParts<ForgeCaller>;
    readonly packages: ApiParts<ForgeCaller>;
    readonly git: ApiParts<ForgeCaller>;
    readonly vault: ApiParts<VaultCaller>;
    readonly objects: OpenObjects;
  },
): Pick<Composed, "handler" | "beginStop"> {
  let accepts = true;
  const metrics = createMetrics(input.version);
  const toServerRequest = createServerRequest(createClientAddress(input.settings.trustedProxies));
  const report = createReporter(log, metrics.observe);
  const binder = toBinderOptions(input, stores, { limiter, addresses, toServerRequest, report });
  const pages = createPages({
    db,
    metrics,
    version: input.version,
    instanceName: input.settings.instanceName,
    accepts: () => accepts,
    ...(objects.isReachable === undefined ? {} : { isBucketReachable: objects.isReachable }),
  });
  const isVaultPath = (path: string) => path.startsWith("/api/") && !pages.has(path);
  const { checkHost } = addresses;
  const handler = createNodeHandler({
    apis: [
      {
        api: forge.api,
        app: bindRoutes(forge.api, forge.routes, binder),
        owns: inAnyForm(isForgePath),
      },
      {
        api: packages.api,
        app: bindRoutes(packages.api, packages.routes, binder),
        owns: inAnyForm(isPackagePath),
      },
      { api: vault.api, app: bindRoutes(vault.api, vault.routes, binder), owns: isVaultPath },
      { api: git.api, app: bindRoutes(git.api, git.routes, binder), owns: inAnyForm(isGitPath) },
    ],
    pages,
    checkHost,
    toServerRequest,
    onRequest: (_message, response) => {
      metrics.requestStarted();
      // Not `once`: it happens once anyway, and the wrapper costs more than all the counting.
      response.on("close", metrics.requestEnded);
      if (!accepts) response.setHeader("Connection", "close");
    },
    onBug: (error, request) => log.error({ err: error, request_id: request.id }, "a page failed"),
  });
  return {
    handler: withCors(handler, { origins: input.settings.allowedOrigins, checkHost }),
    beginStop: () => {
      accepts = false;
    },
  };
}

function toBinderOptions(
  { settings, checkReplies }: DaemonInput,
  { directory }: Stores,
  rest: {
    readonly limiter: RateLimiter;
    readonly addresses: Addresses;
    readonly toServerRequest: (
      message: IncomingMessage,
      response: ServerResponse,
    ) => ReturnType<BinderOptions["toServerRequest"]>;
    readonly report: BinderOptions["report"];
  },
): BinderOptions {
  return {
    limiter: rest.limiter,
    publicUrl: rest.addresses.publicUrl,
    maxJsonBytes: settings.maxBodyBytes,
    maxUploadBytes: settings.maxUploadBytes,
    temporaryDirectory: directory.tmp,
    checkReplies: checkReplies ?? false,
    toServerRequest: rest.toServerRequest,
    report: rest.report,
  };
}

/** One log line a request: bugs as errors, what failed or changed something as news, the rest for those who debug. */
function createReporter(
  log: Log,
  observe: (what: { route: string; method: string; status: number; seconds: number }) => void,
): (what: RequestReport) => void {
  return ({ request, route, status, error }) => {
    const seconds = (performance.now() - request.startedAt) / 1000;
    const { method } = request;
    observe({ route, method, status, seconds });
    const level = levelOf(method, status);
    if (!log.isLevelEnabled(level)) return;
    const facts = {
      request_id: request.id,
      route,
      method,
      status,
      ms: Math.round(seconds * 1000),
      address: request.address,
    };
    log[level](error === undefined || status < 500 ? facts : { ...facts, err: error }, "request");
  };
}

function levelOf(method: string, status: number): "error" | "info" | "debug" {
  if (status === 500) return "error";
  const isRead = method === "GET" || method === "HEAD";
  return isRead && status < 400 ? "debug" : "info";
}
