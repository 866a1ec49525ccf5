import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { WireCron } from "../../../../daemon/contract/forge/cron.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { type Column, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

export const operations = [forge.listCronTasks];
export const output = listOf(forge.listCronTasks);

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
  await cli.output.list(forgePages(cli.client, forge.listCronTasks, {}), columns);
}
