/**
 * State of runs, jobs, tasks and steps. `blocked` waits for other jobs or runs, `waiting` for a runner; `cancelling`
 * runs until its runner reports that it stopped.
 */
export const actionStatuses = [
  "blocked",
  "waiting",
  "running",
  "cancelling",
  "success",
  "failure",
  "cancelled",
  "skipped",
] as const;
export type ActionStatus = (typeof actionStatuses)[number];

/** Returns whether a status never changes again. */
export function isFinal(status: ActionStatus): boolean {
  return ["success", "failure", "cancelled", "skipped"].includes(status);
}

/** Reads the status of a row. */
export function toActionStatus(word: string): ActionStatus {
  const status = actionStatuses.find((candidate) => candidate === word);
  if (status === undefined) throw new Error(`a row has the status ${word}`);
  return status;
}
