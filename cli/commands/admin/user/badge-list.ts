import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { badgeColumns } from "../badge/badge-columns.ts";

export const operations = [forge.listUserBadges];
export const output = listOf(forge.listUserBadges);

export function define(command: Command, cli: CliContext, run = runUserBadgeList): void {
  command
    .argument("<username>", "the user's name")
    .action((username: string) => run(cli, { username }));
}

/** Prints a user's badges. */
async function runUserBadgeList(
  cli: CliContext,
  params: { readonly username: string },
): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listUserBadges, { params }), badgeColumns);
}
