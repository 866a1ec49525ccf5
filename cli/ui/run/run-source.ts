import type { WireJob, WireRun } from "../../../daemon/contract/forge/actions/shapes.ts";

/** The daemon's operations that the screen uses. Every method throws `CliError`. */
export interface RunSource {
  /** The newest runs of the repository. */
  listRuns(): Promise<readonly WireRun[]>;
  getRun(id: number): Promise<WireRun>;
  /** The jobs of the last attempt. */
  listJobs(run: number): Promise<readonly WireJob[]>;
  /** The rows of a job's log from a position on, in pieces of whole rows. */
  readLog(job: number, fromRow: number): AsyncIterable<string>;
  cancel(run: number): Promise<void>;
  /** Runs all jobs of a run again, or those that failed. */
  rerun(run: number, onlyFailed: boolean): Promise<void>;
}

/** The state of a run, job or step in one word. */
export function stateOf({
  status,
  conclusion,
}: {
  readonly status: string;
  readonly conclusion?: string | undefined;
}): string {
  return conclusion ?? status;
}

/** Whether it will not change any more. */
export function hasEnded({ status }: { readonly status: string }): boolean {
  return status === "completed";
}
