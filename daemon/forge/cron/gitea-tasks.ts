// daemon/forge/cron: the list of scheduled tasks, which administrators can also run on demand.
// Start here (the order of the list), then cron.service.ts. Each room brings its own tasks: a new one is an entry there.
import type { CronTask } from "../../jobs/cron-task.ts";

/** A task of Gitea that has no work here: it is listed, and a run is only recorded. */
export interface DisabledTask {
  readonly name: string;
  readonly schedule: "-";
}

/** Returns whether a task has work to do. */
export function isEnabled(task: CronTask | DisabledTask): task is CronTask {
  return "run" in task;
}

/** Gitea's tasks in its order. Most of them have nothing to do here. */
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

/** Returns the tasks of the list: Gitea's in its order, disabled where croft has none of that name, then croft's own. */
export function toTaskList(own: readonly CronTask[]): readonly (CronTask | DisabledTask)[] {
  const named = new Map(own.map((task) => [task.name, task]));
  const isGiteas = (name: string) => GITEA_TASKS.some((known) => known === name);
  return [
    ...GITEA_TASKS.map((name) => named.get(name) ?? ({ name, schedule: "-" } as const)),
    ...own.filter(({ name }) => !isGiteas(name)),
  ];
}
