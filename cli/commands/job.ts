import { Option } from "commander";
import type { z } from "zod";
import type { job } from "../../daemon/contract/vault/jobs.ts";
import { vault } from "../client/operations.ts";
import { vaultPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
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
      .action((options: JobListOptions) => run(cli, options));
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
  operations: [vault.retryJob],
  output: resourceOf(vault.retryJob),
  define(command, cli, run = runJobRetry): void {
    command.argument("<id>", "the job's id").action((id: string) => run(cli, toOptions(id)));
  },
} satisfies CommandModule;

/** Runs a job now; a dead-lettered job starts with its first attempt. */
async function runJobRetry(cli: CliContext, { id }: JobOptions): Promise<void> {
  const { body } = await cli.client.call(vault.retryJob, { params: { job_id: id } });
  await cli.output.resource(body, viewColumns);
}

export const cancelJob = {
  operations: [vault.cancelJob],
  output: shape({ cancelled: "boolean", id: "integer" }),
  destructive: true,
  define(command, cli, run = runJobCancel): void {
    command.argument("<id>", "the job's id").action((id: string) => run(cli, toOptions(id)));
  },
} satisfies CommandModule;

/** Deletes a job that does not run. */
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
