import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.addUserBadges];
export const output = shape({
  given: "boolean",
  username: "string",
  badge_slugs: { type: "array", items: { type: "string" } },
});

/** What the command was given. */
export interface UserBadgeAddOptions {
  readonly username: string;
  readonly slugs: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runUserBadgeAdd): void {
  command
    .argument("<username>", "the user's name")
    .argument("<slug...>", "badges by their slugs")
    .action((username: string, slugs: readonly string[]) => run(cli, { username, slugs }));
}

/** Gives a user badges: all of them or none. */
async function runUserBadgeAdd(
  cli: CliContext,
  { username, slugs }: UserBadgeAddOptions,
): Promise<void> {
  const body = { badge_slugs: [...slugs] };
  await cli.client.call(forge.addUserBadges, { params: { username }, body });
  await cli.output.done(
    { given: true, username, badge_slugs: slugs },
    `Gave ${slugs.join(", ")} to ${username}.`,
  );
}
