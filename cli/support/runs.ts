import { StringDecoder } from "node:string_decoder";
import { usageError, CliError } from "../errors.ts";
import { type RepositoryName, toRepositoryName } from "./repository.ts";
import type { WireRun, WireJob } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { waitUntilEnded } from "./wait.ts";
import type { Client } from "../client/client.ts";

export interface RunName extends RepositoryName {
  /** The id of a run or job. */
  readonly id: number;
}

/** Reads `OWNER/NAME/ID`. Throws `usage` for anything else. */
export function toRunName(text: string): RunName {
  const at = text.lastIndexOf("/");
  const id = Number(text.slice(at + 1));
  if (at === -1 || !Number.isSafeInteger(id) || id < 1)
    throw usageError(`a run or job is named OWNER/NAME/ID, not ${JSON.stringify(text)}`);
  return { ...toRepositoryName(text.slice(0, at)), id };
}

/** Conclusions other than a failure. */
const goodEnds: ReadonlySet<string> = new Set(["success", "skipped", "neutral"]);

/** Waits for the end of a run and returns it. @throws CliError `not_finished` after the timeout */
export function waitForRun(
  cli: CliContext,
  { owner, repo, id }: RunName,
  timeout: number | undefined,
): Promise<WireRun> {
  return waitUntilEnded(cli, {
    title: `run ${id} of ${owner}/${repo}`,
    timeout,
    read: async () =>
      (await cli.client.call(forge.getRun, { params: { owner, repo, run: id } })).body,
    stateOf: ({ status }) => status,
    hasEnded: ({ status }) => status === "completed",
    lookWith: `croft run watch ${owner}/${repo}/${id}`,
  });
}

/** Returns the conclusion of a run that ended well. @throws CliError `task_failed` for every other one */
export function toGoodConclusion({ owner, repo, id }: RunName, run: WireRun): string {
  const conclusion = run.conclusion ?? "unknown";
  if (goodEnds.has(conclusion)) return conclusion;
  const reason = run.error === undefined || run.error === "" ? "" : `: ${run.error}`;
  throw new CliError(
    "task_failed",
    `run ${id} of ${owner}/${repo} ended as ${conclusion}${reason}`,
    {
      service: "forge",
      reason: conclusion,
      hint: `"croft run jobs ${owner}/${repo}/${id}" lists its jobs, "croft run log" prints the log of one`,
    },
  );
}

/** Yields the log of a job as it arrives, in chunks of complete rows. `rows` 0 means all rows from `from` on. */
export async function* readJobLog(
  client: Client,
  { owner, repo, id }: RunName,
  { from, rows = 0 }: { readonly from: number; readonly rows?: number },
): AsyncGenerator<string> {
  const { stream } = await client.download(forge.getJobLog, {
    params: { owner, repo, job_id: id },
    query: { from_row: from, rows },
  });
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const text = rest + decoder.write(chunk as Buffer);
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) yield text.slice(0, end);
  }
}

/** Runs on a page of `listRuns`. */
export const RUNS_PER_PAGE = 50;

/** The daemon's operations that the screen uses. Every method throws `CliError`. */
export interface RunSource {
  /** A page of the runs of the repository, newest first; pages count from 1. `total` is the number of all runs. */
  listRuns(page: number): Promise<{ readonly runs: readonly WireRun[]; readonly total: number }>;
  getRun(id: number): Promise<WireRun>;
  /** The jobs of the last attempt. */
  listJobs(run: number): Promise<readonly WireJob[]>;
  /** Yields the rows of a job's log from an offset on, in chunks of complete rows. */
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

/** Returns whether a run, job or step is completed. */
export function hasEnded({ status }: { readonly status: string }): boolean {
  return status === "completed";
}
