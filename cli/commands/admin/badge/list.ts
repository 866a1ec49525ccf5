import type { Command } from "commander";
import type { listBadges as listBadgesEndpoint } from "../../../../daemon/contract/forge/accounts/badges.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { badgeColumns } from "./badge-columns.ts";

const listBadges = operation<typeof listBadgesEndpoint>(
  "forge.admin.badges.list",
  "GET",
  "/api/v1/admin/badges",
);

export const operations = [listBadges];
export const output = listOf(listBadges);

export function define(command: Command, cli: CliContext, run = runBadgeList): void {
  command.action(() => run(cli));
}

/** Prints the badges that can be given. */
async function runBadgeList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, listBadges, {}), badgeColumns);
}
