import type { Command } from "commander";
import type {
  listCronTasks as listCronTasksEndpoint,
  WireCron,
} from "../../../../daemon/contract/forge/cron.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

const listCronTasks = operation<typeof listCronTasksEndpoint>(
  "forge.admin.cron.list",
  "GET",
  "/api/v1/admin/cron",
);

export const operations = [listCronTasks];
export const output = listOf(listCronTasks);

const columns: readonly Column<WireCron>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "schedule", cell: ({ schedule }) => schedule },
  { header: "next", cell: ({ next }) => time(next) },
  { header: "previous", cell: ({ prev }) => time(prev) },
  { header: "runs", cell: ({ exec_times: runs }) => runs },
];

export function define(command: Command, cli: CliContext, run = runCronList): void {
  command.action(() => run(cli));
}

/** Prints the scheduled tasks. */
async function runCronList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, listCronTasks, {}), columns);
}
