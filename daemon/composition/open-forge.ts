import type { RunnerTransport } from "../forge/actions/protocol/connect-handler.ts";
import { createProtocolLog } from "../forge/actions/protocol/protocol-log.ts";
import type { SshTransfers } from "../forge/git/ssh/ssh-session.ts";
import type { Surface } from "../contract/api-of.ts";
import { closeAll, collect } from "../feature.ts";
import { bindRoutes } from "../http/bind.ts";
import type { Api, Route } from "../http/handle.ts";
import type { MountedApi, PartHandler } from "../http/server.ts";
import { createOperations } from "../pages/operations.ts";
import type { ForgeSide } from "../people/forge-side.ts";
import { createPageHandler } from "../pages/page-handler.ts";
import { createPageServer } from "../pages/page-server.ts";
import { createLargeFilesApi } from "../forge/large-files/large-files-api.ts";
import { createForgeApi } from "../forge/api.ts";
import { createGitApi, createPackagesApi } from "../forge/http/tool-apis.ts";
import {
  createSshAuthentication,
  type SshAuthentication,
} from "../forge/git/ssh/ssh-authentication.ts";
import { createForgeSite, findSessionCaller } from "../forge/pages/site.tsx";
import { createSessions } from "../forge/pages/sessions.ts";
import { forgeTasks } from "../forge/tasks.ts";
import { createTaskRunner, type TaskRunner } from "./lazy.ts";
import { createForgeCore, type ForgeDeps } from "./forge-core.ts";
import { createForgeFeatures } from "./forge-features.ts";
import { openProvider } from "./sign-in.ts";
import type { ServiceDeps } from "./services.ts";

/** The forge with its accounts, pages and protocols. */
export interface OpenedForge extends TaskRunner {
  readonly surfaces: Readonly<Record<Exclude<Surface, "vault" | "vault_pages">, MountedApi>>;
  readonly servePage: PartHandler;
  /** Serves the paths below `/api/actions`. */
  readonly serveRunner: PartHandler;
  /** Clones and pushes over SSH. */
  readonly transfers: SshTransfers;
  readonly sshAuthentication: SshAuthentication;
  /** The forge for the pages that show people with the accounts of both APIs. */
  readonly side: ForgeSide;
  /** Ends event streams and held requests, which would otherwise keep a stopping daemon waiting. */
  beginStop(): void;
  close(): Promise<void>;
}

/** Opens the forge: wires up its features, binds their routes and registers their jobs. */
export async function openForge(deps: ForgeDeps): Promise<OpenedForge> {
  const { db, input, queue, tools } = deps;
  const core = createForgeCore(deps);
  const { features, people, actions, largeFiles, containers, oauth, rendering, transfers } =
    createForgeFeatures(core, deps);
  for (const subscribers of collect(features, "subscribers")) core.subscribe(subscribers);
  for (const job of collect(features, "jobs")) queue.register(job);
  // Publishes pushes that an earlier process did not complete.
  await core.journal.recover(core.isAlone);
  const provider = openProvider(deps);
  const sessions = createSessions({ ...core, ...people });
  const api = createForgeApi({
    ...people,
    db,
    findSession: (request) => findSessionCaller(sessions, request),
  });
  const routes = collect(features, "routes");
  const operations = createOperations(api, routes);
  const mount = <Caller>(mounted: Api<Caller>, own: readonly Route[]): MountedApi => ({
    api: mounted,
    handle: bindRoutes(mounted, own, tools.binder),
  });
  const { artifactService } = actions;
  const runnerTransport = createRunnerTransport(deps);
  return {
    surfaces: {
      forge: mount(api, routes),
      packages: mount(createPackagesApi(api), collect(features, "registryRoutes")),
      git: mount(createGitApi(api), collect(features, "gitRoutes")),
      oauth: mount(oauth.api(api), oauth.providerRoutes),
      containers: mount(containers.api(api), containers.routes),
      large_files: mount(createLargeFilesApi(api, largeFiles.tokens), largeFiles.transferRoutes),
      artifacts: mount(artifactService.api, artifactService.routes),
    },
    servePage: createForgePages(deps, {
      sessions,
      identities: people.identities,
      passwordRules: people.passwordRules.describe(),
      provider,
      publicKeys: people.publicKeys,
      rendering,
      pages: collect(features, "pages"),
      operations,
    }),
    serveRunner: (request, response) => actions.runnerHandler(request, response, runnerTransport),
    transfers,
    side: {
      async callAsAdministrator(request) {
        const caller = await findSessionCaller(sessions, request);
        return caller?.user.isAdmin === true ? operations(request, caller) : undefined;
      },
      callAsAnyone: (request) => operations(request, undefined),
      isUsable: people.passwordResets.isUsable,
      passwordDemands: people.passwordRules.demands,
      findBroken: people.passwordResets.findBroken,
    },
    sshAuthentication: createSshAuthentication({ db, clock: input.clock }),
    runTask: createTaskRunner(declaredTasks(deps), collect(features, "tasks")),
    beginStop() {
      for (const feature of features) feature.beginStop?.();
    },
    close: () => closeAll([...features, ...(provider === undefined ? [] : [provider])]),
  };
}

const declaredTasks = ({ input }: ServiceDeps) =>
  Object.values(forgeTasks).filter(
    (task) => task !== forgeTasks.delete_old_actions || input.settings.activityDays > 0,
  );

function createRunnerTransport({ tools, input }: ForgeDeps): RunnerTransport {
  const { toServerRequest, report, bodies, limiter } = tools.binder;
  return {
    logged: createProtocolLog({ toServerRequest, report, clock: input.clock }),
    bodies,
    addressKey: (message, response) =>
      limiter.addressKey(toServerRequest(message, response).address),
  };
}

function createForgePages(
  { addresses, input, tools }: ForgeDeps,
  deps: Omit<Parameters<typeof createForgeSite>[0], "urls">,
): PartHandler {
  const { publicUrl } = addresses;
  const { toServerRequest, report, bodies, limiter } = tools.binder;
  const site = createForgeSite({ ...deps, urls: { publicUrl } });
  return createPageServer({
    siteName: site.name,
    answerPage: createPageHandler({
      site,
      publicUrl,
      instanceName: input.settings.instanceName,
      limiter,
      clock: input.clock,
      reportBug: tools.reportBug,
    }),
    toServerRequest,
    bodies,
    addressKey: limiter.addressKey,
    uploadBytesMax: input.settings.maxUploadBytes,
    report,
  });
}
