import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { badgeColumns } from "./badge-columns.ts";

export const operations = [forge.listBadges];
export const output = listOf(forge.listBadges);

export function define(command: Command, cli: CliContext, run = runBadgeList): void {
  command.action(() => run(cli));
}

/** Prints the badges that can be given. */
async function runBadgeList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listBadges, {}), badgeColumns);
}
