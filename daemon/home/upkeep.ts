import type { DataDirectory } from "../../storage/data-directory.ts";
import type { Database } from "../../storage/engine/database.ts";
import { backUpDatabase } from "../../storage/engine/rotating-backup.ts";
import type { SqliteDatabase } from "../../storage/engine/sqlite.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import { deleteDeadJobs } from "../../storage/tables/common/jobs.ts";
import { deleteEndedLeases } from "../../storage/tables/common/leases.ts";
import { isObjectReferenced } from "../../storage/tables/common/object-references.ts";
import { analyseTables } from "../../storage/tables/common/statistics.ts";
import type { CronTask } from "../jobs/cron-task.ts";
import type { Settings } from "../settings/settings.ts";

export interface UpkeepDeps {
  readonly db: Database;
  readonly directory: DataDirectory;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly limiter: { prune(): Promise<number> };
  readonly sessions: readonly { deleteExpired(): Promise<number> }[];
  readonly objects: Pick<ObjectStore, "sweep">;
  readonly uploads: { deleteExpired(): Promise<unknown> };
  /** Writes a backup of the whole home; undefined when no backups are scheduled. */
  readonly backUp: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** As of `CronTask`. */
  readonly backupSchedule: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEAD_JOBS_KEPT_MS = 30 * DAY_MS;
/** Age after which an object without references is deleted: a younger one may belong to an upload that is not recorded yet. */
const UNREFERENCED_KEPT_MS = DAY_MS;
const BACKUPS_KEPT = 7;
/** Time limit of a backup of the whole home. */
const BACKUP_MS = 6 * HOUR_MS;

/** Returns whether backups of the home are scheduled. A database on a server is not in them. */
export function hasNightlyBackup({
  backupFolder,
  backupUrl,
  databaseUrl,
}: Pick<Settings, "backupFolder" | "backupUrl" | "databaseUrl">): boolean {
  return (backupFolder !== undefined || backupUrl !== undefined) && databaseUrl === undefined;
}

/** Returns the scheduled tasks of the home that neither API owns. */
export function createUpkeepTasks(deps: UpkeepDeps): readonly CronTask[] {
  const { db, directory, clock, limiter, sessions, objects, uploads, backUp } = deps;
  return [
    {
      name: "cleanup_packages",
      schedule: "@midnight",
      atStart: true,
      run: async (signal) => {
        await uploads.deleteExpired();
        await objects.sweep({
          before: clock() - UNREFERENCED_KEPT_MS,
          isInUse: (sha256) => isObjectReferenced(db, sha256),
          signal,
        });
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
      run: async () => {
        await limiter.prune();
        // Those of daemons that died.
        await deleteEndedLeases(db, clock());
      },
    },
    {
      name: "delete_dead_jobs",
      schedule: "@midnight",
      atStart: true,
      run: async () => void (await deleteDeadJobs(db, clock() - DEAD_JOBS_KEPT_MS)),
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
            schedule: deps.backupSchedule,
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
