import {
  hasActionSchedules,
  hasOpenActionTasks,
  hasWaitingActionJobs,
} from "../../storage/tables/forge/actions/pending-work.ts";
import { hasLargeFiles } from "../../storage/tables/forge/repositories/large-files.ts";
import { hasScheduledMirrors } from "../../storage/tables/forge/repositories/mirrors.ts";
import { declareTasks } from "../jobs/cron-task.ts";

/** Time limit of the tasks that run git in one repository after the other. */
const timeoutMs = 12 * 3_600_000;

/** The scheduled tasks of the forge. Their code is loaded when they have something to do. */
export const forgeTasks = declareTasks({
  update_mirrors: { schedule: "@every 10m", isNeeded: hasScheduledMirrors },
  repo_health_check: { schedule: "@midnight", timeoutMs },
  check_repo_stats: { schedule: "@midnight", timeoutMs },
  archive_cleanup: { schedule: "@midnight" },
  git_gc_repos: { schedule: "@every 72h", timeoutMs },
  cleanup_hook_task_table: { schedule: "@midnight" },
  // Disabled in Gitea by default.
  delete_old_actions: { schedule: "@every 168h" },
  gc_lfs: { schedule: "@midnight", timeoutMs, isNeeded: hasLargeFiles },
  cleanup_containers: { schedule: "@midnight", timeoutMs },
  stop_zombie_tasks: { schedule: "@every 5m", atStart: true, isNeeded: hasOpenActionTasks },
  stop_endless_tasks: { schedule: "@every 30m", atStart: true, isNeeded: hasOpenActionTasks },
  // Limits of single jobs are minutes, so they are checked more often than by Gitea's task.
  stop_overdue_jobs: { schedule: "@every 1m", isNeeded: hasOpenActionTasks },
  cancel_abandoned_jobs: { schedule: "@every 6h", atStart: true, isNeeded: hasWaitingActionJobs },
  start_schedule_tasks: { schedule: "@every 1m", isNeeded: hasActionSchedules },
  cleanup_actions: { schedule: "@midnight" },
});
