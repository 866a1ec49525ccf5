import { CliError } from "../../../errors.ts";
import { failedTask, type Outcome, runTasks, type Task } from "../../../support/batch.ts";
import type { SyncSide, SyncStep } from "./sync-plan.ts";
import { BATCHED_AT_ONCE } from "./transfer.ts";

/** The outcome of one step. */
export interface Done {
  readonly action: SyncStep["action"];
  readonly size: number | null;
}

/** Folders that wait for their creation. */
const FOLDERS_AT_ONCE = 256;

/**
 * Runs folder tasks first, parents begun before their content, then file tasks in parallel. Items below a failed folder fail
 * with it.
 */
export async function carryOut(
  side: SyncSide,
  steps: readonly SyncStep[],
): Promise<Outcome<Done>[]> {
  const outcomes: Outcome<Done>[] = [];
  const broken = steps.filter(({ action }) => action === "conflict").map(({ path }) => path);
  const isBroken = (path: string) => broken.some((above) => path.startsWith(`${above}/`));
  const folders = steps
    .filter(({ action, path }) => (action === "folder" || action === "conflict") && !isBroken(path))
    .map((step) =>
      step.action === "folder"
        ? toTask(step, () => side.makeFolder(step))
        : failedTask(step.path, toConflict(step)),
    );
  for (const outcome of await runTasks<Done>(folders, FOLDERS_AT_ONCE)) {
    if (isBroken(outcome.item)) continue;
    if (outcome.failure !== undefined) broken.push(outcome.item);
    outcomes.push(outcome);
  }
  const files = steps.filter(({ action }) => action === "copy" || action === "replace");
  const tasks = async function* (): AsyncGenerator<Task<Done>> {
    for (const step of files)
      yield isBroken(step.path)
        ? failedTask(step.path, new CliError("conflict", "the folder above it is missing"))
        : toTask(step, () => side.copy(step));
    side.flush();
  };
  outcomes.push(...(await runTasks(tasks(), BATCHED_AT_ONCE)));
  return outcomes;
}

export function toTask(step: SyncStep, work: () => Promise<number | void>): Task<Done> {
  return {
    item: step.path,
    run: async () => ({ action: step.action, size: (await work()) ?? null }),
  };
}

function toConflict({ path, source, target }: SyncStep): CliError {
  const kind = target?.kind === "other" ? "a link or device" : `a ${target?.kind}`;
  return new CliError("conflict", `${path} is ${kind} in the target and a ${source?.kind} here`);
}
