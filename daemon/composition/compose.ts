import { hasConnections } from "../../storage/tables/vault/pending-work.ts";
import { deleteExpiredPasswordResets } from "../../storage/tables/forge/accounts/password-resets.ts";
import { listPushes } from "../../storage/tables/forge/repositories/pushes.ts";
import { deleteExpiredUploads } from "../../storage/tables/vault/documents/uploads.ts";
import { toTaskList } from "../forge/cron/gitea-tasks.ts";
import { createCronTasks } from "../forge/cron/cron.service.ts";
import type { SshServer } from "../forge/git/ssh/ssh-server.ts";
import { forgeTasks } from "../forge/tasks.ts";
import { createUpkeepTasks, hasNightlyBackup } from "../home/upkeep.ts";
import { vaultTasks } from "../vault/tasks.ts";
import { createLazy, type Lazy, toLazyTasks } from "./lazy.ts";
import type { OpenedForge } from "./open-forge.ts";
import type { OpenedVault } from "./open-vault.ts";
import { openRepositories } from "./repositories.ts";
import { openMailer, type ServiceDeps } from "./services.ts";
import { openObjects, toBackupInput } from "./stores.ts";
import { openSsh } from "./ssh.ts";
import { createTransportTools } from "./transport-tools.ts";
import { createTransport } from "./transport.ts";

/** How long a shutdown waits for running jobs. */
const JOBS_GRACE_MS = 5_000;

/** Both APIs as one request handler, and the background work. */
export type Composed = Awaited<ReturnType<typeof compose>>;

/**
 * Wires up what each start needs: stores, jobs, schedules and transport. The forge and the vault are loaded and opened by
 * the first request, job or scheduled task that needs them, so they cost nothing at the start. Nothing listens yet, and no
 * job runs.
 */
export async function compose(deps: ServiceDeps) {
  const { db, input, queue, newId, log } = deps;
  const { clock, settings } = input;
  const { directory } = deps.stores;
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
  queue.register(mailer.job);
  const repositories = await openRepositories(deps);
  const tools = createTransportTools(deps);
  const parts = { ...deps, mailer, objects: objects.store, repositories, tools };
  let isStarted = false;
  const forge = createLazy(async (): Promise<OpenedForge> => {
    await input.beforeParts?.();
    const { openForge } = await import("./open-forge.ts");
    return openForge({ ...parts, cron });
  });
  const vault = createLazy(async (): Promise<OpenedVault> => {
    await input.beforeParts?.();
    const { openVault } = await import("./open-vault.ts");
    const openForgeSide = async () => (await forge.get()).side;
    const opened = await openVault({ ...parts, openForgeSide });
    if (isStarted) opened.start();
    return opened;
  });
  const cron = createCronTasks({
    db,
    clock,
    queue,
    log,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    tasks: toTaskList([
      ...toLazyTasks(
        Object.values(forgeTasks).filter(
          (task) => task !== forgeTasks.delete_old_actions || settings.activityDays > 0,
        ),
        db,
        forge,
      ),
      ...toLazyTasks(
        Object.values(vaultTasks).filter(
          (task) => task !== vaultTasks.take_in_inboxes || settings.inbox,
        ),
        db,
        vault,
      ),
      {
        // Days end in UTC, whatever the time zone of the server. A file that exists already is skipped.
        name: "export_audit",
        schedule: "10 * * * *",
        atStart: true,
        async run(signal) {
          const { openAuditChain, openDailyExports } = await import("./daily-exports.ts");
          const chain = openAuditChain(deps);
          await chain.recordHead();
          await openDailyExports(deps).writeMissing(signal);
          await chain.removeOld(signal);
        },
      },
      ...createUpkeep(deps, objects.store),
    ]),
  });
  queue.onUnknown(async (kind) => {
    // Kinds of the vault have several beginnings; neither part knows a kind of a later version.
    await (kind.startsWith("forge.") ? forge : vault).get();
  });
  const transport = createTransport(deps, tools, {
    forge,
    vault,
    objects,
    backupState: () => cron.stateOf("backup_home"),
  });
  await openUnfinished(deps, { forge, vault });
  return {
    handler: transport.handler,
    /** Creates the SSH server; undefined when it is off. */
    openSsh: (): Promise<SshServer | undefined> => openSsh(deps, forge),
    /** Stops keeping connections alive; `/readyz` answers 503 from now on. */
    beginStop: () => {
      transport.beginStop();
      forge.opened?.beginStop();
    },
    /** Starts background work: jobs and schedules. */
    start: async () => {
      await queue.start();
      await cron.start();
      isStarted = true;
      vault.opened?.start();
    },
    /** Stops background work; interrupted jobs return to the queue. */
    stop: async () => {
      await queue.stop(JOBS_GRACE_MS);
      await forge.close();
      await vault.close();
      await repositories.close();
      await objects.close();
    },
  };
}

/** Opens the parts in which an earlier process may have left something to complete. */
async function openUnfinished(
  { db }: ServiceDeps,
  { forge, vault }: { readonly forge: Lazy<OpenedForge>; readonly vault: Lazy<OpenedVault> },
): Promise<void> {
  if ((await listPushes(db)).length > 0) await forge.get();
  if (await hasConnections(db)) await vault.get();
}

function createUpkeep(
  { db, input, stores, limiter, newId, log }: ServiceDeps,
  objects: Parameters<typeof createUpkeepTasks>[0]["objects"],
) {
  const { clock } = input;
  return createUpkeepTasks({
    db,
    directory: stores.directory,
    clock,
    limiter,
    sessions: [
      {
        async deleteExpired() {
          const { deleteExpiredSessions } = await import("../vault/accounts/sessions.service.ts");
          return deleteExpiredSessions(db, clock());
        },
      },
      {
        async deleteExpired() {
          const { deleteExpiredSessions } = await import("../forge/pages/sessions.ts");
          return deleteExpiredSessions(db, clock());
        },
      },
      { deleteExpired: () => deleteExpiredPasswordResets(db, clock()) },
    ],
    objects,
    uploads: { deleteExpired: () => deleteExpiredUploads(db, clock()) },
    backUp: !hasNightlyBackup(input.settings)
      ? undefined
      : async (signal) => {
          const { writeNightlyBackups } = await import("../home/backups.ts");
          await writeNightlyBackups(
            { ...toBackupInput(input), random: Math.random, log, db, newId },
            signal,
          );
        },
    backupSchedule: input.settings.backupSchedule,
  });
}
