import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.removeUserBadges];
export const output = shape({
  taken: "boolean",
  username: "string",
  badge_slugs: { type: "array", items: { type: "string" } },
});
export const destructive = false;

/** What the command was given. */
export interface UserBadgeRemoveOptions {
  readonly username: string;
  readonly slugs: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runUserBadgeRemove): void {
  command
    .argument("<username>", "the user's name")
    .argument("<slug...>", "badges by their slugs")
    .action((username: string, slugs: readonly string[]) => run(cli, { username, slugs }));
}

/** Takes badges from a user; those that the user does not have are ignored. */
async function runUserBadgeRemove(
  cli: CliContext,
  { username, slugs }: UserBadgeRemoveOptions,
): Promise<void> {
  const body = { badge_slugs: [...slugs] };
  await cli.client.call(forge.removeUserBadges, { params: { username }, body });
  await cli.output.done(
    { taken: true, username, badge_slugs: slugs },
    `Took ${slugs.join(", ")} from ${username}.`,
  );
}
