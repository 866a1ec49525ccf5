import type { Database } from "../../storage/engine/database.ts";
import type { SqliteDatabase } from "../../storage/engine/sqlite.ts";
import type { ByteCache } from "../../storage/cache/byte-cache.ts";
import type { DataDirectory } from "../../storage/data-directory.ts";
import type { Git } from "../../storage/git/git.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { backUpDatabase } from "../../storage/engine/rotating-backup.ts";
import { deleteDeadJobs } from "../../storage/tables/common/jobs.ts";
import { isObjectReferenced } from "../../storage/tables/common/object-references.ts";
import { analyseTables } from "../../storage/tables/common/statistics.ts";
import type { ForgeRepository } from "../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeActions } from "../forge/actions/actions.ts";
import type { ForgeActivities } from "../forge/activities/activities.ts";
import type { CronTask, DisabledTask } from "../forge/cron/cron.ts";
import type { Log } from "../utilities/logging.ts";
import type { Documents } from "../vault/documents/documents.service.ts";
import type { DocumentUploads } from "../vault/documents/uploads.service.ts";
import { createRepositoryCare } from "../forge/repositories/maintenance.ts";

/** The dependencies of scheduled tasks. */
export interface ScheduledTasksDeps {
  readonly db: Database;
  readonly directory: DataDirectory;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly limiter: { prune(): Promise<number> };
  readonly sessions: readonly { deleteExpired(): Promise<number> }[];
  readonly hookLog: { prune(before: number): Promise<number> };
  readonly cache: Pick<ByteCache, "reconcile">;
  readonly auditExports: { writeMissing(signal: AbortSignal): Promise<unknown> };
  readonly objects: Pick<ObjectStore, "sweep">;
  readonly documents: {
    readonly documents: Pick<Documents, "reconcile">;
    readonly uploads: Pick<DocumentUploads, "deleteExpired">;
  };
  /** Writes a nightly backup of the whole home; undefined when nightly backups are off. */
  readonly backUp: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  readonly log: Pick<Log, "warn">;
  readonly workflows: ForgeActions["upkeep"];
  readonly activities: Pick<ForgeActivities, "deleteBefore">;
  /** How long activities are kept; 0 keeps them. */
  readonly activityDays: number;
  readonly git: Git;
  /** Returns the folder of a repository's files. Refuses when they are missing. */
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEAD_JOBS_KEPT_MS = 30 * DAY_MS;
const DELIVERIES_KEPT_MS = 7 * DAY_MS;
/** Age after which an object without references is deleted: a younger one may belong to an upload that is not recorded yet. */
const UNREFERENCED_KEPT_MS = DAY_MS;
const BACKUPS_KEPT = 7;
/** Time limit of a backup of the whole home. */
const BACKUP_MS = 6 * HOUR_MS;
/** Time limit of the tasks that run git in every repository, one after the other. */
const ALL_REPOSITORIES_MS = 12 * HOUR_MS;

/** Gitea's tasks in its order (forge behaviour, 12.1). Those that `ownTasks` lacks have nothing to do here. */
const GITEA_TASKS = [
  "update_mirrors",
  "repo_health_check",
  "check_repo_stats",
  "archive_cleanup",
  "sync_external_users",
  "deleted_branches_cleanup",
  "update_migration_poster_id",
  "cleanup_hook_task_table",
  "cleanup_packages",
  "sync_repo_licenses",
  "delete_inactive_accounts",
  "delete_repo_archives",
  "git_gc_repos",
  "resync_all_sshkeys",
  "resync_all_sshprincipals",
  "resync_all_hooks",
  "reinit_missing_repos",
  "delete_missing_repos",
  "delete_generated_repository_avatars",
  "delete_old_actions",
  "update_checker",
  "delete_old_system_notices",
  "gc_lfs",
  "rebuild_issue_indexer",
  "stop_zombie_tasks",
  "stop_endless_tasks",
  "cancel_abandoned_jobs",
  "start_schedule_tasks",
  "cleanup_actions",
] as const;

/** Returns the tasks of the list: Gitea's in its order, disabled where they have nothing to do here, then croft's own. */
export function scheduledTasks(deps: ScheduledTasksDeps): readonly (CronTask | DisabledTask)[] {
  const own = ownTasks(deps);
  const named = new Map(own.map((task) => [task.name, task]));
  const isGiteas = (name: string) => GITEA_TASKS.some((known) => known === name);
  return [
    ...GITEA_TASKS.map((name) => named.get(name) ?? ({ name, schedule: "-" } as const)),
    ...own.filter(({ name }) => !isGiteas(name)),
  ];
}

/** Returns the tasks that do something. A new task is one more entry. */
function ownTasks(deps: ScheduledTasksDeps): readonly CronTask[] {
  const { db, directory, clock, limiter, sessions, hookLog, cache, auditExports } = deps;
  const { objects, documents, log, workflows, backUp, activities, activityDays } = deps;
  const maintenance = createRepositoryCare(deps);
  return [
    {
      name: "repo_health_check",
      schedule: "@midnight",
      timeoutMs: ALL_REPOSITORIES_MS,
      run: (signal) => maintenance.checkAll(signal),
    },
    {
      name: "check_repo_stats",
      schedule: "@midnight",
      timeoutMs: ALL_REPOSITORIES_MS,
      run: (signal) => maintenance.countAll(signal),
    },
    {
      name: "git_gc_repos",
      schedule: "@every 72h",
      timeoutMs: ALL_REPOSITORIES_MS,
      run: (signal) => maintenance.collectAll(signal),
    },
    {
      name: "cleanup_hook_task_table",
      schedule: "@midnight",
      run: async () => void (await hookLog.prune(clock() - DELIVERIES_KEPT_MS)),
    },
    {
      name: "cleanup_packages",
      schedule: "@midnight",
      atStart: true,
      run: async (signal) => {
        await documents.uploads.deleteExpired();
        await objects.sweep({
          before: clock() - UNREFERENCED_KEPT_MS,
          isInUse: (sha256) => isObjectReferenced(db, sha256),
          signal,
        });
      },
    },
    {
      name: "reconcile_documents",
      schedule: "@midnight",
      atStart: true,
      run: async (signal) => {
        const { correctedUsers, withoutBytes, withoutFile, discarded } =
          await documents.documents.reconcile(signal);
        if (correctedUsers.length > 0)
          log.warn({ users: correctedUsers }, "corrected quota bookings that did not match");
        if (withoutBytes.length > 0)
          log.warn({ documents: withoutBytes }, "documents without bytes in the object store");
        if (withoutFile.length > 0)
          log.warn({ documents: withoutFile }, "documents without a file in connected storage");
        if (discarded > 0)
          log.warn(
            { files: discarded },
            "deleted files of interrupted uploads from connected storage",
          );
      },
    },
    {
      name: "delete_expired_sessions",
      schedule: "@every 1h",
      run: async () => {
        for (const each of sessions) await each.deleteExpired();
      },
    },
    {
      name: "delete_ended_rate_windows",
      schedule: "@every 1h",
      atStart: true,
      run: async () => void (await limiter.prune()),
    },
    {
      name: "delete_dead_jobs",
      schedule: "@midnight",
      atStart: true,
      run: async () => void (await deleteDeadJobs(db, clock() - DEAD_JOBS_KEPT_MS)),
    },
    // Disabled in Gitea by default.
    ...(activityDays === 0
      ? []
      : [
          {
            name: "delete_old_actions",
            schedule: "@every 168h",
            run: (signal: AbortSignal) =>
              activities.deleteBefore(clock() - activityDays * DAY_MS, signal),
          },
        ]),
    {
      name: "stop_zombie_tasks",
      schedule: "@every 5m",
      atStart: true,
      run: async () => void (await workflows.failSilentTasks()),
    },
    {
      name: "stop_endless_tasks",
      schedule: "@every 30m",
      atStart: true,
      run: () => workflows.stopOverdueTasks(),
    },
    {
      // Limits of single jobs are minutes, so they are checked more often than by Gitea's task.
      name: "stop_overdue_jobs",
      schedule: "@every 1m",
      run: () => workflows.stopOverdueTasks(),
    },
    {
      name: "cancel_abandoned_jobs",
      schedule: "@every 6h",
      atStart: true,
      run: () => workflows.cancelAbandonedJobs(),
    },
    {
      name: "start_schedule_tasks",
      schedule: "@every 1m",
      run: (signal) => workflows.startDueSchedules(signal),
    },
    {
      name: "cleanup_actions",
      schedule: "@midnight",
      run: (signal) => workflows.cleanUp(signal),
    },
    {
      name: "reconcile_byte_cache",
      schedule: "@midnight",
      run: () => cache.reconcile(),
    },
    {
      // Days end in UTC, whatever the time zone of the server. A file that exists already is skipped.
      name: "export_audit",
      schedule: "10 * * * *",
      atStart: true,
      run: async (signal) => void (await auditExports.writeMissing(signal)),
    },
    {
      name: "optimize_database",
      schedule: "0 3 * * *",
      run: () => analyseTables(db),
    },
    ...(isSqlite(db)
      ? [
          {
            name: "backup_database",
            schedule: "30 3 * * *",
            run: async () =>
              void (await backUpDatabase(db, {
                folder: directory.backups,
                temporaryFolder: directory.tmp,
                count: BACKUPS_KEPT,
                now: clock(),
              })),
          },
        ]
      : []),
    ...(backUp === undefined
      ? []
      : [
          {
            name: "backup_home",
            schedule: "45 3 * * *",
            timeoutMs: BACKUP_MS,
            run: async (signal: AbortSignal) => void (await backUp(signal)),
          },
        ]),
  ];
}

/** The task that backs up the database; a database on a server is backed up with the tools of the server. */
function isSqlite(db: Database): db is SqliteDatabase {
  return db.dialect === "sqlite" && "backup" in db;
}
