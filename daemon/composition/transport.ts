import type { IncomingMessage, ServerResponse } from "node:http";
import { isRunnerProtocol, surfaceOf } from "../contract/api-of.ts";
import type { ArtifactCaller } from "../forge/actions/artifacts/artifacts-api.ts";
import type { ForgeActions } from "../forge/actions/actions.ts";
import type { RunnerTransport } from "../forge/actions/protocol/connect-handler.ts";
import { createProtocolLog } from "../forge/actions/protocol/protocol-log.ts";
import type { ForgeCaller } from "../forge/caller.ts";
import { createAccessLog } from "../http/access-log.ts";
import { type BinderOptions, bindRoutes, type RateLimiter } from "../http/bind.ts";
import { createBodyBudgets } from "../http/body-memory.ts";
import { createClientAddress } from "../http/client-address.ts";
import { withCors } from "../http/cors.ts";
import type { Api, Route } from "../http/handle.ts";
import { createMetrics } from "../http/metrics.ts";
import { createServerRequest } from "../http/server-request.ts";
import { createNodeHandler, type NodeHandler } from "../http/server.ts";
import type { DaemonInput } from "../home/daemon-input.ts";
import type { OpenObjects, Stores } from "./stores.ts";
import type { VaultCaller } from "../vault/caller.ts";
import type { ServiceDeps } from "./accounts.ts";
import type { Addresses } from "../http/addresses.ts";
import { type AnswerPage, createForgePages, createPages, isPage } from "./pages.ts";
import { openHostKeys } from "../forge/git/ssh/host-keys.ts";
import { createSshAuthentication } from "../forge/git/ssh/ssh-authentication.ts";
import type { SshServer } from "../forge/git/ssh/ssh-server.ts";
import type { SmartHttp } from "../forge/git/smart-http.service.ts";

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
    artifacts,
    vault,
    objects,
    runnerHandler,
    answerPage,
  }: {
    readonly forge: ApiParts<ForgeCaller>;
    readonly packages: ApiParts<ForgeCaller>;
    readonly git: ApiParts<ForgeCaller>;
    readonly artifacts: ApiParts<ArtifactCaller>;
    readonly vault: ApiParts<VaultCaller>;
    readonly objects: OpenObjects;
    /** Serves the paths below `/api/actions`. */
    readonly runnerHandler: ForgeActions["runnerHandler"];
    /** Answers requests for the pages of the forge. */
    readonly answerPage: AnswerPage;
  },
): { readonly handler: NodeHandler; readonly beginStop: () => void } {
  let accepts = true;
  const metrics = createMetrics(input.version);
  const toServerRequest = createServerRequest(createClientAddress(input.settings.trustedProxies));
  const report = createAccessLog(log, metrics);
  const binder = toBinderOptions(input, stores, { limiter, addresses, toServerRequest, report });
  const pages = createPages({
    db,
    metrics,
    version: input.version,
    instanceName: input.settings.instanceName,
    accepts: () => accepts,
    hasSpace: () => stores.reserve.hasSpace(),
    ...(objects.isReachable === undefined ? {} : { isBucketReachable: objects.isReachable }),
  });
  const mount = <Caller>({ api, routes }: ApiParts<Caller>) => ({
    api,
    app: bindRoutes(api, routes, binder),
  });
  const forgePages = createForgePages({
    answerPage,
    toServerRequest,
    bodies: binder.bodies,
    addressKey: limiter.addressKey,
    report,
  });
  const { clock } = input;
  const runnerTransport: RunnerTransport = {
    logged: createProtocolLog({ toServerRequest, report, clock }),
    bodies: binder.bodies,
    addressKey: (message, response) =>
      limiter.addressKey(toServerRequest(message, response).address),
  };
  const { checkHost } = addresses;
  const handler = createNodeHandler({
    apis: {
      forge: mount(forge),
      packages: mount(packages),
      git: mount(git),
      artifacts: mount(artifacts),
      vault: mount(vault),
    },
    apiOf: surfaceOf,
    handlerOf: (path, message) => {
      if (isRunnerProtocol(path))
        return (request, response) => runnerHandler(request, response, runnerTransport);
      return isPage(path, message, pages) ? forgePages : undefined;
    },
    pages,
    checkHost,
    toServerRequest,
    onRequest: (_message, response) => {
      metrics.requestStarted();
      // Not `once`: the event occurs once, and the wrapper costs more than the counting.
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
  { directory, reserve }: Stores,
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
    bodies: createBodyBudgets(settings.maxBodyBytes),
    publicUrl: rest.addresses.publicUrl,
    maxJsonBytes: settings.maxBodyBytes,
    maxUploadBytes: settings.maxUploadBytes,
    temporaryDirectory: directory.tmp,
    spendReserve: (failure, work) => reserve.spend(failure, work),
    checkReplies: checkReplies ?? false,
    toServerRequest: rest.toServerRequest,
    report: rest.report,
  };
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
