import { allEndpoints } from "../contract/all.ts";
import { apiOf, isRunnerProtocol, surfaceOf } from "../contract/api-of.ts";
import type { PublicKeys } from "../forge/accounts/keys.service.ts";
import type { ForgeActions } from "../forge/actions/actions.ts";
import type { ArtifactCaller } from "../forge/actions/artifacts/artifacts-api.ts";
import type { RunnerTransport } from "../forge/actions/protocol/connect-handler.ts";
import { createProtocolLog } from "../forge/actions/protocol/protocol-log.ts";
import type { ForgeCaller } from "../forge/caller.ts";
import type { SmartHttp } from "../forge/git/smart-http.service.ts";
import { openHostKeys } from "../forge/git/ssh/host-keys.ts";
import { createSshAuthentication } from "../forge/git/ssh/ssh-authentication.ts";
import type { SshServer } from "../forge/git/ssh/ssh-server.ts";
import { createOperations } from "../pages/operations.ts";
import { createPageHandler } from "../pages/page-handler.ts";
import { createPageServer, isPage } from "../pages/page-server.ts";
import { createForgeSite } from "../forge/pages/site.tsx";
import type { Sessions } from "../forge/pages/sessions.ts";
import type { FindFileLanguage } from "../forge/code/file-languages.ts";
import type { Rendering } from "../rendering/rendering.service.ts";
import { isInitialised } from "../home/administrators.ts";
import { createAccessLog } from "../http/access-log.ts";
import { type BinderOptions, bindRoutes } from "../http/bind.ts";
import { createBodyBudgets } from "../http/body-memory.ts";
import { createClientAddress } from "../http/client-address.ts";
import { withCors } from "../http/cors.ts";
import type { Api, Route, ServerRequest } from "../http/handle.ts";
import { createRequestLimiter } from "../http/limits.ts";
import { createMetrics } from "../http/metrics.ts";
import { createServerRequest } from "../http/server-request.ts";
import { createNodeHandler, type NodeHandler } from "../http/server.ts";
import {
  type ApiDocument,
  createServicePages,
  type ServicePagesDeps,
} from "../http/service-pages.ts";
import type { VaultCaller } from "../vault/caller.ts";
import { createResetPage, createSpentPage, RESET_PAGE_PATH } from "../vault/pages/reset-page.tsx";
import type { ServiceDeps } from "./services.ts";
import type { OpenObjects } from "./stores.ts";

interface ApiParts<Caller> {
  readonly api: Api<Caller>;
  readonly routes: readonly Route[];
}

export interface TransportParts {
  readonly forge: ApiParts<ForgeCaller>;
  readonly packages: ApiParts<ForgeCaller>;
  readonly git: ApiParts<ForgeCaller>;
  readonly artifacts: ApiParts<ArtifactCaller>;
  readonly vault: ApiParts<VaultCaller>;
  readonly objects: Pick<OpenObjects, "isReachable">;
  readonly backupState: ServicePagesDeps["backupState"];
  /** Returns whether the token of a password reset link can still be used. */
  readonly isResetLinkUsable: (token: string) => Promise<boolean>;
  /** Serves the paths below `/api/actions`. */
  readonly runnerHandler: ForgeActions["runnerHandler"];
  /** What the pages of the forge need beside its API. */
  readonly pages: {
    readonly sessions: Sessions;
    readonly publicKeys: PublicKeys;
    readonly rendering: Rendering;
    readonly findFileLanguage: FindFileLanguage;
  };
}

/** Wires up one handler of all requests: the APIs, the protocol of runners, the pages of the forge and of the service. */
export function createTransport(
  deps: ServiceDeps,
  parts: TransportParts,
): { readonly handler: NodeHandler; readonly beginStop: () => void } {
  const { db, input, stores, addresses, log, queue } = deps;
  const { settings, version, clock } = input;
  let accepts = true;
  const metrics = createMetrics(version, () => queue.stalledMs());
  const toServerRequest = createServerRequest(createClientAddress(settings.trustedProxies));
  const report = createAccessLog(log, metrics);
  const bodies = createBodyBudgets(settings.maxBodyBytes);
  const limiter = createRequestLimiter(deps.limiter, db);
  const { addressKey } = limiter;
  const binder: BinderOptions = {
    limiter,
    bodies,
    publicUrl: addresses.publicUrl,
    maxJsonBytes: settings.maxBodyBytes,
    maxUploadBytes: settings.maxUploadBytes,
    temporaryDirectory: stores.directory.tmp,
    spendReserve: (failure, work) => stores.reserve.spend(failure, work),
    checkReplies: input.checkReplies ?? false,
    toServerRequest,
    report,
  };
  const mount = <Caller>({ api, routes }: ApiParts<Caller>) => ({
    api,
    app: bindRoutes(api, routes, binder),
  });
  const reportBug: BugReport = (error, request) =>
    log.error({ err: error, request_id: request?.id }, "a page failed");
  const servicePages = openServicePages(deps, parts, { metrics, accepts: () => accepts });
  const site = createForgeSite({
    ...parts.pages,
    urls: { publicUrl: addresses.publicUrl },
    operations: createOperations(parts.forge.api, parts.forge.routes),
  });
  const pageServer = createPageServer({
    siteName: site.name,
    answerPage: createPageHandler({
      site,
      publicUrl: addresses.publicUrl,
      instanceName: settings.instanceName,
      limiter,
      reportBug,
    }),
    toServerRequest,
    bodies,
    addressKey,
    report,
  });
  const runnerTransport: RunnerTransport = {
    logged: createProtocolLog({ toServerRequest, report, clock }),
    bodies,
    addressKey: (message, response) => addressKey(toServerRequest(message, response).address),
  };
  const { checkHost } = addresses;
  const handler = createNodeHandler({
    apis: {
      forge: mount(parts.forge),
      packages: mount(parts.packages),
      git: mount(parts.git),
      artifacts: mount(parts.artifacts),
      vault: mount(parts.vault),
    },
    apiOf: surfaceOf,
    handlerOf: (path, message) => {
      if (isRunnerProtocol(path))
        return (request, response) => parts.runnerHandler(request, response, runnerTransport);
      return isPage(path, message, servicePages) ? pageServer : undefined;
    },
    pages: servicePages,
    checkHost,
    toServerRequest,
    onRequest: (_message, response) => {
      metrics.requestStarted();
      // Not `once`: the event occurs once, and the wrapper costs more than the counting.
      response.on("close", metrics.requestEnded);
      if (!accepts) response.setHeader("Connection", "close");
    },
    onBug: reportBug,
  });
  return {
    handler: withCors(handler, { origins: settings.allowedOrigins, checkHost }),
    beginStop: () => {
      accepts = false;
    },
  };
}

type BugReport = (error: unknown, request: { readonly id: string } | undefined) => void;

function openServicePages(
  { db, input, stores, queue }: ServiceDeps,
  { objects: { isReachable }, backupState, isResetLinkUsable }: TransportParts,
  own: Pick<ServicePagesDeps, "metrics" | "accepts">,
) {
  const { version, settings } = input;
  const documents = toDocuments(version);
  return createServicePages({
    ...own,
    version,
    metricsToken: settings.metricsToken,
    probe: async () => {
      db.assertInPlace?.();
      await isInitialised(db);
    },
    hasSpace: () => stores.reserve.hasSpace(),
    jobsStalledMs: () => queue.stalledMs(),
    backupState,
    ...(isReachable === undefined ? {} : { isBucketReachable: isReachable }),
    documents,
    html: new Map([[RESET_PAGE_PATH, toResetPage(settings.instanceName, isResetLinkUsable)]]),
    // The address in the `url` of every forge error.
    redirects: new Map([["/api/swagger", documents[0].paths[0]]]),
  });
}

/** A link without a token has the form, whose script says that it is incomplete. */
function toResetPage(instanceName: string, isUsable: (token: string) => Promise<boolean>) {
  return async ({ query }: ServerRequest) => {
    const token = query.get("token") ?? "";
    const hasForm = token === "" || (await isUsable(token));
    return hasForm ? createResetPage(instanceName) : createSpentPage(instanceName);
  };
}

function toDocuments(version: string): readonly [ApiDocument, ApiDocument] {
  const endpointsOf = (api: "forge" | "vault") => () =>
    allEndpoints.filter((declared) => apiOf(declared) === api);
  return [
    {
      // The others are where tools for Gitea look for the description.
      paths: ["/openapi/forge.json", "/swagger.v1.json", "/openapi3.v1.json"],
      info: {
        title: "croft forge API",
        version: "28.2.0",
        description:
          "People, repositories, packages, issues, hooks, notifications, templates and rendering, as Gitea's clients know them.",
      },
      endpoints: endpointsOf("forge"),
    },
    {
      paths: ["/openapi/vault.json"],
      info: {
        title: "croft vault API",
        version,
        description:
          "Accounts with a second factor, cloud storage behind a byte cache, an audit trail.",
      },
      endpoints: endpointsOf("vault"),
    },
  ];
}

/** Connections of one address: each costs a key exchange. */
const connectionRule = { max: 300, seconds: 60 } as const;

/** Creates the SSH server with the keys of this home; undefined when it is off. Nothing listens yet. */
export async function openSsh(
  { db, input, stores, limiter, log }: ServiceDeps,
  transfers: SmartHttp,
): Promise<SshServer | undefined> {
  const { settings, clock, version } = input;
  if (!settings.ssh) return undefined;
  // Loaded only when it is on: the library is large.
  const { createSshServer } = await import("../forge/git/ssh/ssh-server.ts");
  return createSshServer({
    transfers,
    authentication: createSshAuthentication({ db, clock }),
    hostKeys: await openHostKeys({ db, sealer: stores.keyring }),
    log,
    countConnection: async (address) => {
      const key = `ssh ${limiter.addressKey(address)}`;
      return (await limiter.consume(key, connectionRule)).allowed;
    },
    addressKey: limiter.addressKey,
    idleMs: settings.idleTimeoutSeconds * 1000,
    // A dash would begin the comment of the identification (RFC 4253, 4.2).
    ident: `croft_${version.replace(/[^\w.]/g, "_")}`,
  });
}
