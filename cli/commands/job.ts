import { Option } from "commander";
import type { z } from "zod";
import type { job } from "../../daemon/contract/vault/jobs.ts";
import { vault } from "../client/operations.ts";
import { vaultPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { addWaitFlags, assertWaitFlags, type WaitFlags, waitUntilEnded } from "../support/wait.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List background jobs", () => listJobs, { aliases: ["ls"] }),
  verb("view", "Show a background job and why it failed", () => viewJob),
  verb("retry", "Run a background job now", () => retryJob),
  verb("cancel", "Cancel a background job", () => cancelJob),
];

type Job = z.output<typeof job>;

export interface JobListOptions {
  readonly state?: "waiting" | "running" | "dead";
  readonly kind?: string;
}

export const listJobs = {
  operations: [vault.listJobs],
  output: listOf(vault.listJobs, "items"),
  define(command, cli, run = runJobList): void {
    command
      .addOption(
        new Option("--state <state>", "only jobs of this state").choices([
          "waiting",
          "running",
          "dead",
        ]),
      )
      .option("--kind <kind>", "only jobs of this kind, such as cloud.analyze")
      .action((flags: JobListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints background jobs, newest first. Administrators of the vault only. */
async function runJobList(cli: CliContext, { state, kind }: JobListOptions): Promise<void> {
  await cli.output.list(
    vaultPages(cli.client, vault.listJobs, { query: { state, kind } }),
    listColumns,
  );
}

const listColumns: readonly Column<Job>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "state", cell: ({ state }) => state },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "attempts", cell: ({ attempts }) => attempts },
  { header: "runs at", cell: ({ run_at: at }) => time(at) },
  { header: "error", cell: ({ last_error: error }) => error },
];

const viewColumns: readonly Column<Job>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "job", cell: ({ description }) => description },
  { header: "document", cell: ({ document_id: id }) => id },
  { header: "item", cell: ({ item_id: id }) => id },
  ...listColumns.filter(({ header }) => header !== "id"),
  { header: "created", cell: ({ created_at: at }) => time(at) },
];

export interface JobOptions {
  readonly id: string;
}

export const viewJob = {
  operations: [vault.viewJob],
  output: resourceOf(vault.viewJob),
  define(command, cli, run = runJobView): void {
    command.argument("<id>", "the job's id").action((id: string) => run(cli, toOptions(id)));
  },
} satisfies CommandModule;

/** Prints a job and why its last attempt failed. */
async function runJobView(cli: CliContext, { id }: JobOptions): Promise<void> {
  const { body } = await cli.client.call(vault.viewJob, { params: { job_id: id } });
  await cli.output.resource(body, viewColumns);
}

export const retryJob = {
  operations: [vault.retryJob, vault.viewJob],
  output: resourceOf(vault.retryJob, 200, { done: "boolean" }),
  define(command, cli, run = runJobRetry): void {
    addWaitFlags(command, "wait until it has succeeded or failed for good")
      .argument("<id>", "the job's id")
      .action((id: string, flags: WaitFlags) => {
        assertWaitFlags(flags);
        return run(cli, { ...toOptions(id), ...flags });
      });
  },
} satisfies CommandModule;

/**
 * Runs a job now; a dead-lettered job starts with its first attempt. The daemon retries failed attempts, so `--wait`
 * waits for the last one. @throws CliError with `--wait`: `task_failed` for a job that was dead-lettered
 */
async function runJobRetry(cli: CliContext, options: JobOptions & WaitFlags): Promise<void> {
  const params = { job_id: options.id };
  const { body } = await cli.client.call(vault.retryJob, { params });
  if (options.wait !== true) return cli.output.resource(body, viewColumns);
  let last: Job = body;
  const end = await waitUntilEnded(cli, {
    title: `job ${options.id}`,
    timeout: options.timeout,
    // A job that has succeeded is deleted.
    async read() {
      const accept = ({ status }: { readonly status: number }) => status === 404;
      const answer = await cli.client.call(vault.viewJob, { params }, { accept });
      if (answer.raw.status === 404) return undefined;
      last = answer.body;
      return answer.body;
    },
    stateOf: (job) => (job?.last_error ? `${job.state}, ${job.last_error}` : (job?.state ?? "")),
    hasEnded: (job) => job === undefined || job.state === "dead",
    lookWith: `croft job view ${options.id}`,
  });
  if (end === undefined) return cli.output.resource({ ...last, done: true }, doneColumns);
  throw new CliError("task_failed", `job ${options.id} failed: ${end.last_error ?? "no reason"}`, {
    service: "vault",
    hint: `"croft job view ${options.id}" shows it`,
  });
}

/** Columns of a completed job, which has no state and does not run again. */
const doneColumns: readonly Column<Job & { readonly done: boolean }>[] = [
  ...viewColumns.filter(({ header }) => !["state", "runs at", "error"].includes(header)),
  { header: "done", cell: ({ done }) => done },
];

export const cancelJob = {
  operations: [vault.cancelJob],
  output: shape({ cancelled: "boolean", id: "integer" }),
  destructive: true,
  define(command, cli, run = runJobCancel): void {
    command.argument("<id>", "the job's id").action((id: string) => run(cli, toOptions(id)));
  },
} satisfies CommandModule;

/** Deletes a job that is not running. */
async function runJobCancel(cli: CliContext, { id }: JobOptions): Promise<void> {
  await cli.prompts.confirm(`Cancel the job ${id}?`);
  await cli.client.call(vault.cancelJob, { params: { job_id: id } });
  await cli.output.done({ cancelled: true, id: Number(id) }, `Cancelled the job ${id}.`);
}

function toOptions(id: string): JobOptions {
  if (!/^[1-9]\d{0,14}$/.test(id))
    throw usageError(`${JSON.stringify(id)} is not the id of a job`, '"croft job list" shows them');
  return { id };
}
