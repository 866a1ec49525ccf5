import { randomBytes } from "node:crypto";
import { peopleRoutes } from "../forge/accounts/accounts.ts";
import type { RunnerTransport } from "../forge/actions/protocol/connect-handler.ts";
import { createProtocolLog } from "../forge/actions/protocol/protocol-log.ts";
import { gitRoutes } from "../forge/git/git.routes.ts";
import type { Surface } from "../contract/api-of.ts";
import { bindRoutes } from "../http/bind.ts";
import type { Api, Route } from "../http/handle.ts";
import type { MountedApi, PartHandler } from "../http/server.ts";
import { createOperations } from "../pages/operations.ts";
import { createPageHandler } from "../pages/page-handler.ts";
import { createPageServer } from "../pages/page-server.ts";
import { createLargeFilesApi } from "../forge/large-files/large-files-api.ts";
import { createForgeApi } from "../forge/api.ts";
import { cronRoutes } from "../forge/cron/cron.routes.ts";
import { createGitApi, createPackagesApi } from "../forge/http/tool-apis.ts";
import type { SshTransfers } from "../forge/git/ssh/ssh-session.ts";
import {
  createSshAuthentication,
  type SshAuthentication,
} from "../forge/git/ssh/ssh-authentication.ts";
import { createForgeSite, findSessionCaller } from "../forge/pages/site.tsx";
import { createSessions } from "../forge/pages/sessions.ts";
import { forgeTasks } from "../forge/tasks.ts";
import { createTaskRunner, type TaskRunner } from "./lazy.ts";
import { createForgePeople } from "./people.ts";
import type { ServiceDeps } from "./services.ts";
import { type ForgeDeps, openFeatures } from "./forge-features.ts";

/** The forge with its accounts, pages and protocols. */
export interface OpenedForge extends TaskRunner {
  readonly surfaces: Readonly<Record<Exclude<Surface, "vault">, MountedApi>>;
  readonly servePage: PartHandler;
  /** Serves the paths below `/api/actions`. */
  readonly serveRunner: PartHandler;
  /** Clones and pushes over SSH. */
  readonly transfers: SshTransfers;
  readonly sshAuthentication: SshAuthentication;
  /** Ends event streams and held requests, which would otherwise keep a stopping daemon waiting. */
  closeStreams(): void;
  close(): Promise<void>;
}

/** Opens the forge: wires up its services, binds its routes and registers its jobs. */
export async function openForge(deps: ForgeDeps): Promise<OpenedForge> {
  const features = await openFeatures(deps);
  const people = createForgePeople(deps, deps.mailer);
  deps.queue.register(people.passwordResets.job);
  const { workflows } = features;
  const webSessions = createSessions({
    db: deps.db,
    clock: deps.input.clock,
    random: randomBytes,
    authentication: people.authentication,
    ownPassword: people.ownPassword,
  });
  const api = createForgeApi({
    db: deps.db,
    ...people,
    findSession: (request) => findSessionCaller(webSessions, request),
  });
  const routes = [...peopleRoutes(people), ...features.routes, ...cronRoutes(deps.cron)];
  const { binder } = deps.tools;
  const mount = <Caller>(mounted: Api<Caller>, own: readonly Route[]): MountedApi => ({
    api: mounted,
    app: bindRoutes(mounted, own, binder),
  });
  const { artifactService } = workflows;
  const runnerTransport = createRunnerTransport(deps);
  return {
    surfaces: {
      forge: mount(api, routes),
      packages: mount(createPackagesApi(api), features.registryRoutes),
      git: mount(createGitApi(api), gitRoutes(features.transfers)),
      large_files: mount(
        createLargeFilesApi(api, features.largeFiles.tokens),
        features.largeFiles.routes,
      ),
      artifacts: mount(artifactService.api, artifactService.routes),
    },
    servePage: createForgePages(deps, {
      sessions: webSessions,
      publicKeys: people.publicKeys,
      rendering: features.rendering,
      findFileLanguage: features.findFileLanguage,
      operations: createOperations(api, routes),
    }),
    serveRunner: (request, response) => workflows.runnerHandler(request, response, runnerTransport),
    transfers: features.transfers,
    sshAuthentication: createSshAuthentication({ db: deps.db, clock: deps.input.clock }),
    runTask: createTaskRunner(declaredTasks(deps), features.tasks),
    closeStreams: features.closeStreams,
    close: features.close,
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
      reportBug: tools.reportBug,
    }),
    toServerRequest,
    bodies,
    addressKey: limiter.addressKey,
    report,
  });
}
