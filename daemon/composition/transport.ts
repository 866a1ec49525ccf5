import type { IncomingMessage, ServerResponse } from "node:http";
import type { ForgeCaller } from "../forge/caller.ts";
import { isGitPath } from "../forge/git/git-api.ts";
import { isPackagePath } from "../forge/packages/packages-api.ts";
import {
  bindRoutes,
  type BinderOptions,
  type RateLimiter,
  type RequestReport,
} from "../http/bind.ts";
import { createClientAddress } from "../http/client-address.ts";
import { withCors } from "../http/cors.ts";
import type { Api, Route } from "../http/handle.ts";
import { createMetrics } from "../http/metrics.ts";
import { createServerRequest } from "../http/server-request.ts";
import { createNodeHandler, type NodeHandler } from "../http/server.ts";
import type { DaemonInput } from "../main.ts";
import type { Log } from "../utilities/logging.ts";
import type { VaultCaller } from "../vault/caller.ts";
import type { ServiceDeps } from "./accounts.ts";
import type { Addresses } from "./network.ts";
import type { OpenObjects } from "./objects.ts";
import { createPages } from "./pages.ts";
import type { Stores } from "./stores.ts";

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

interface ApiParts<Caller> {
  readonly api: Api<Caller>;
  readonly routes: readonly Route[];
}

export function createTransport(
  { db, input, stores, addresses, limiter, log }: ServiceDeps,
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
): { readonly handler: NodeHandler; readonly beginStop: () => void } {
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
