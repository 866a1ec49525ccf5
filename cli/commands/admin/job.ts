import type { WireJob } from "../../../daemon/contract/forge/actions/shapes.ts";
import { toChoice } from "../../support/flag-values.ts";
import { forge } from "../../client/operations.ts";
import { forgeFieldPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { jobColumns, printLog } from "../run.ts";

export const entries: readonly Entry[] = [
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

const columns: readonly Column<WireJob>[] = [
  { header: "repository", cell: toRepository },
  ...jobColumns,
];

export const listAllJobs = {
  operations: [forge.listJobs],
  output: listOf(forge.listJobs, "jobs"),
  define(command, cli, run = runList): void {
    command
      .option("--status <statuses...>", "such as queued, in_progress, success or failure")
      .option("--order <order>", "asc or desc, by id")
      .action((filters: JobFilters) => run(cli, filters));
  },
} satisfies CommandModule;

/** Prints the jobs of all repositories. */
async function runList(cli: CliContext, { status, order }: JobFilters): Promise<void> {
  const query = {
    ...(status === undefined ? {} : { status: [...status] }),
    ...(order === undefined
      ? {}
      : { sort: "id", order: toChoice("--order", ["asc", "desc"], order) }),
  };
  await cli.output.list(forgeFieldPages(cli.client, forge.listJobs, { query }, "jobs"), columns);
}
