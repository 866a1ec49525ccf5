import type { WireRun } from "../../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../../client/operations.ts";
import { forgeFieldPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { runColumns } from "../run.ts";

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

const columns: readonly Column<WireRun>[] = [
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
    columns,
  );
}
