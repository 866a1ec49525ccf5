import { apiOf, isDav, isRunnerProtocol, type Surface, surfaceOf } from "../contract/api-of.ts";
import { isInitialised } from "../home/administrators.ts";
import { withCors } from "../http/cors.ts";
import { createNodeHandler, type MountedApi, type NodeHandler } from "../http/server.ts";
import {
  type ApiDocument,
  createServicePages,
  type ServicePagesDeps,
} from "../http/service-pages.ts";
import { isPage, isVaultPage } from "../pages/is-page.ts";
import type { Lazy } from "./lazy.ts";
import type { OpenedForge } from "./open-forge.ts";
import type { OpenedVault } from "./open-vault.ts";
import type { ServiceDeps } from "./services.ts";
import type { OpenObjects } from "./stores.ts";
import type { TransportTools } from "./transport-tools.ts";

export interface TransportParts {
  readonly forge: Lazy<OpenedForge>;
  readonly vault: Lazy<OpenedVault>;
  readonly objects: Pick<OpenObjects, "isReachable">;
  readonly backupState: ServicePagesDeps["backupState"];
}

/** Wires up one handler of all requests: the APIs, the protocol of runners, the pages of the forge and of the service. */
export function createTransport(
  deps: ServiceDeps,
  { metrics, binder, reportBug }: TransportTools,
  parts: TransportParts,
): { readonly handler: NodeHandler; readonly beginStop: () => void } {
  const { forge, vault } = parts;
  const { settings } = deps.input;
  let accepts = true;
  const servicePages = openServicePages(deps, parts, { metrics, accepts: () => accepts });
  const { checkHost } = deps.addresses;
  const surfaceOfForge = (name: Exclude<Surface, "vault" | "vault_pages">) => () =>
    forge.opened?.surfaces[name] ?? forge.get().then(({ surfaces }) => surfaces[name]);
  const surfaceOfVault = (name: "vault" | "vault_pages") => (): MountedApi | Promise<MountedApi> =>
    vault.opened?.surfaces[name] ?? vault.get().then(({ surfaces }) => surfaces[name]);
  const handler = createNodeHandler<Surface>({
    apis: {
      forge: surfaceOfForge("forge"),
      packages: surfaceOfForge("packages"),
      git: surfaceOfForge("git"),
      large_files: surfaceOfForge("large_files"),
      containers: surfaceOfForge("containers"),
      oauth: surfaceOfForge("oauth"),
      artifacts: surfaceOfForge("artifacts"),
      vault: surfaceOfVault("vault"),
      vault_pages: surfaceOfVault("vault_pages"),
    },
    apiOf: surfaceOf,
    handlerOf: (path, message) => {
      if (isRunnerProtocol(path))
        return async (...exchange) => (await forge.get()).serveRunner(...exchange);
      if (isDav(path, message))
        return async (...exchange) => (await vault.get()).serveDav(...exchange);
      if (!isPage(path, message, servicePages)) return undefined;
      const part = isVaultPage(path) ? vault : forge;
      return async (...exchange) => (await part.get()).servePage(...exchange);
    },
    pages: servicePages,
    checkHost,
    toServerRequest: binder.toServerRequest,
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

function openServicePages(
  { db, input, stores, queue }: ServiceDeps,
  { objects: { isReachable }, backupState }: TransportParts,
  own: Pick<ServicePagesDeps, "metrics" | "accepts">,
) {
  const { version, settings } = input;
  const documents = toDocuments(version);
  return createServicePages({
    ...own,
    version,
    metricsToken: settings.metricsToken,
    probe: async () => {
      db.assertWritable?.();
      await isInitialised(db);
    },
    hasSpace: () => stores.reserve.hasSpace(),
    jobsStalledMs: () => queue.stalledMs(),
    backupState,
    ...(isReachable === undefined ? {} : { isBucketReachable: isReachable }),
    documents,
    // The address in the `url` of every forge error.
    redirects: new Map([["/api/swagger", "/docs/forge"]]),
  });
}

function toDocuments(version: string): readonly [ApiDocument, ApiDocument] {
  const endpointsOf = (api: "forge" | "vault") => async () => {
    const { allEndpoints } = await import("../contract/all.ts");
    return allEndpoints.filter((declared) => apiOf(declared) === api);
  };
  return [
    {
      // The others are where tools for Gitea look for the description.
      name: "forge",
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
      name: "vault",
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
