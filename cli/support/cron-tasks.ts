import type { WireCron } from "../../daemon/contract/forge/cron.ts";
import { CliError } from "../errors.ts";

/** Why a run of a disabled task would do nothing. */
export const DISABLED_TASK =
  "croft has nothing to do for this task of Gitea; it is listed for Gitea's clients only";

/** Returns whether a task has nothing to do here. */
export function isDisabled({ schedule }: Pick<WireCron, "schedule">): boolean {
  return schedule === "-";
}

/** Refuses to run a disabled task: the daemon accepts that as Gitea does, and does nothing. @throws CliError `unsupported` */
export function assertEnabled(task: Pick<WireCron, "name" | "schedule">): void {
  if (!isDisabled(task)) return;
  throw new CliError("unsupported", `${task.name} is disabled: ${DISABLED_TASK}`, {
    hint: '"croft admin cron list" shows the tasks with a schedule',
  });
}
