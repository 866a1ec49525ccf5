import type { Command } from "commander";
import type { listUserBadges as listUserBadgesEndpoint } from "../../../../daemon/contract/forge/accounts/badges.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { badgeColumns } from "../badge/badge-columns.ts";

const listUserBadges = operation<typeof listUserBadgesEndpoint>(
  "forge.admin.users.badges.list",
  "GET",
  "/api/v1/admin/users/:username/badges",
);

export const operations = [listUserBadges];
export const output = listOf(listUserBadges);

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
  await cli.output.list(forgePages(cli.client, listUserBadges, { params }), badgeColumns);
}
