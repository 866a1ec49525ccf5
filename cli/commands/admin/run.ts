import type { WireRun, WireJob } from "../../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../../client/operations.ts";
import { forgeFieldPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { runColumns, jobColumns } from "../run.ts";
import { printLog } from "../run-log.ts";
import { toChoice } from "../../support/flag-values.ts";

/** `croft admin run`. */
export const entries: readonly Entry[] = [
  verb("list", "List the runs of all repositories", () => listAllRuns, { aliases: ["ls"] }),
];

interface RunFilters {
  readonly status?: readonly string[];
  readonly branch?: string;
  readonly event?: string;
  readonly actor?: string;
  readonly commit?: string;
}

const allRunColumns: readonly Column<WireRun>[] = [
  { header: "repository", cell: ({ repository }) => repository.full_name },
  ...runColumns,
];

export const listAllRuns = {
  operations: [forge.listRuns],
  output: listOf(forge.listRuns, "workflow_runs"),
  define(command, cli, run = runList): void {
    command
      .option("--status <statuses...>", "such as queued, in_progress, success or failure")
      .option("--branch <name>", "of this branch")
      .option("--event <event>", "of this event, such as push")
      .option("--actor <username>", "started by this user")
      .option("--commit <sha>", "of the commit with this full id")
      .action((filters: RunFilters) => run(cli, filters));
  },
} satisfies CommandModule;

/** Prints the runs of all repositories, the newest first. */
async function runList(cli: CliContext, { commit, status, ...filters }: RunFilters): Promise<void> {
  const query = {
    ...filters,
    ...(status === undefined ? {} : { status: [...status] }),
    ...(commit === undefined ? {} : { head_sha: commit }),
  };
  await cli.output.list(
    forgeFieldPages(cli.client, forge.listRuns, { query }, "workflow_runs"),
    allRunColumns,
  );
}

/** `croft admin job`. */
export const jobEntries: readonly Entry[] = [
  verb("list", "List the jobs of all runs", () => listAllJobs, { aliases: ["ls"] }),
  verb("log", "Print the log of a job", () => printLog),
];

interface JobFilters {
  readonly status?: readonly string[];
  readonly order?: string;
}

/** The repository of a job, as its address names it. */
function toRepository({ url }: WireJob): string {
  return /\/repos\/([^/]+\/[^/]+)\/actions\//.exec(url)?.[1] ?? "";
}

const allJobColumns: readonly Column<WireJob>[] = [
  { header: "repository", cell: toRepository },
  ...jobColumns,
];

export const listAllJobs = {
  operations: [forge.listJobs],
  output: listOf(forge.listJobs, "jobs"),
  define(command, cli, run = runJobList): void {
    command
      .option("--status <statuses...>", "such as queued, in_progress, success or failure")
      .option("--order <order>", "asc or desc, by id")
      .action((filters: JobFilters) => run(cli, filters));
  },
} satisfies CommandModule;

/** Prints the jobs of all repositories. */
async function runJobList(cli: CliContext, { status, order }: JobFilters): Promise<void> {
  const query = {
    ...(status === undefined ? {} : { status: [...status] }),
    ...(order === undefined
      ? {}
      : { sort: "id", order: toChoice("--order", ["asc", "desc"], order) }),
  };
  await cli.output.list(
    forgeFieldPages(cli.client, forge.listJobs, { query }, "jobs"),
    allJobColumns,
  );
}
