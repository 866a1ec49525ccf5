import { randomBytes } from "node:crypto";
import { peopleRoutes } from "../forge/accounts/accounts.ts";
import { createForgeApi } from "../forge/api.ts";
import { cronRoutes } from "../forge/cron/cron.routes.ts";
import { toTaskList } from "../forge/cron/gitea-tasks.ts";
import { createCronTasks } from "../forge/cron/cron.service.ts";
import { createGitApi, createPackagesApi } from "../forge/http/tool-apis.ts";
import type { SshServer } from "../forge/git/ssh/ssh-server.ts";
import { findSessionCaller } from "../forge/pages/site.tsx";
import { createSessions } from "../forge/pages/sessions.ts";
import type { NodeHandler } from "../http/server.ts";
import { createVaultApi } from "../vault/api.ts";
import { createPeople, openMailer, type ServiceDeps } from "./services.ts";
import { openForge } from "./forge.ts";
import { openObjects, toBackupInput } from "./stores.ts";
import { createNightlyBackup } from "../home/backups.ts";
import { createUpkeepTasks } from "../home/upkeep.ts";
import { openSsh, createTransport } from "./transport.ts";
import { openVault } from "./vault.ts";

/** How long a shutdown waits for running jobs. */
const JOBS_GRACE_MS = 5_000;

/** Both APIs as one request handler, and the background work. */
export interface Composed {
  readonly handler: NodeHandler;
  /** Creates the SSH server; undefined when it is off. */
  openSsh(): Promise<SshServer | undefined>;
  /** Starts background work: jobs and schedules. */
  start(): Promise<void>;
  /** Stops keeping connections alive; `/readyz` answers 503 from now on. */
  beginStop(): void;
  /** Stops background work; interrupted jobs return to the queue. */
  stop(): Promise<void>;
}

/** Wires up services, routes and transport. Nothing listens yet, and no job runs. */
export async function compose(deps: ServiceDeps): Promise<Composed> {
  const { db, input, stores, queue, limiter, newId, log } = deps;
  const { clock, settings } = input;
  const { directory } = stores;
  const objects = await openObjects({
    db,
    settings,
    directory,
    log,
    clock,
    random: Math.random,
    newId,
  });
  const mailer = openMailer(deps);
  const { queueMail } = mailer;
  const forge = await openForge({ ...deps, objects: objects.store, queueMail });
  const people = createPeople(deps, mailer);
  const vault = await openVault({ ...deps, accounts: people.vault, objects: objects.store });
  queue.register(mailer.job);
  queue.register(people.forge.passwordResets.job);
  const webSessions = createSessions({
    db,
    clock,
    random: randomBytes,
    authentication: people.forge.authentication,
    ownPassword: people.forge.ownPassword,
  });
  const cron = createCronTasks({
    db,
    clock,
    queue,
    log,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    tasks: toTaskList([
      ...forge.tasks,
      ...vault.tasks,
      ...createUpkeepTasks({
        db,
        directory,
        clock,
        limiter,
        sessions: [people.vault.sessions, webSessions, people.forge.passwordResets],
        objects: objects.store,
        uploads: vault.uploads,
        backUp: createNightlyBackup(
          { ...toBackupInput(input), random: Math.random, log },
          db,
          newId,
        ),
        backupSchedule: input.settings.backupSchedule,
      }),
    ]),
  });
  const forgeApi = createForgeApi({
    db,
    ...people.forge,
    findSession: (request) => findSessionCaller(webSessions, request),
  });
  const forgeRoutes = [...peopleRoutes(people.forge), ...forge.routes, ...cronRoutes(cron)];
  const transport = createTransport(deps, {
    forge: { api: forgeApi, routes: forgeRoutes },
    pages: {
      sessions: webSessions,
      publicKeys: people.forge.publicKeys,
      rendering: forge.rendering,
      findFileLanguage: forge.findFileLanguage,
    },
    packages: { api: createPackagesApi(forgeApi), routes: forge.registryRoutes },
    git: { api: createGitApi(forgeApi), routes: forge.gitRoutes },
    artifacts: forge.workflows.artifactService,
    vault: { api: createVaultApi(people.vault.authentication), routes: vault.routes },
    objects,
    backupState: () => cron.stateOf("backup_home"),
    isResetLinkUsable: (token) => people.vault.passwords.isUsable(token),
    runnerHandler: forge.workflows.runnerHandler,
  });
  return {
    handler: transport.handler,
    openSsh: () => openSsh(deps, forge.transfers),
    beginStop: () => {
      transport.beginStop();
      forge.closeStreams();
    },
    start: async () => {
      await queue.start();
      await cron.start();
      vault.start();
    },
    stop: async () => {
      await queue.stop(JOBS_GRACE_MS);
      await forge.close();
      await vault.close();
      await objects.close();
    },
  };
}
