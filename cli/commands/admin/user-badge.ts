import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, shape } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { badgeColumns } from "./badge.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the badges of a forge user", () => listUserBadges, {
    aliases: ["ls"],
  }),
  verb("add", "Add badges to a forge user", () => addUserBadges),
  verb("remove", "Remove badges from a forge user", () => removeUserBadges, {
    aliases: ["rm"],
  }),
];

export const listUserBadges = {
  operations: [forge.listUserBadges],
  output: listOf(forge.listUserBadges),
  define(command, cli, run = runUserBadgeList): void {
    command
      .argument("<username>", "the user's name")
      .action((username: string) => run(cli, { username }));
  },
} satisfies CommandModule;

/** Prints a user's badges. */
async function runUserBadgeList(
  cli: CliContext,
  params: { readonly username: string },
): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listUserBadges, { params }), badgeColumns);
}

interface UserBadgeAddOptions {
  readonly username: string;
  readonly slugs: readonly string[];
}

export const addUserBadges = {
  operations: [forge.addUserBadges],
  output: shape({
    given: "boolean",
    username: "string",
    badge_slugs: { type: "array", items: { type: "string" } },
  }),
  define(command, cli, run = runUserBadgeAdd): void {
    command
      .argument("<username>", "the user's name")
      .argument("<slug...>", "badges by their slugs")
      .action((username: string, slugs: readonly string[]) => run(cli, { username, slugs }));
  },
} satisfies CommandModule;

/** Gives badges to a user, atomically. */
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

interface UserBadgeRemoveOptions {
  readonly username: string;
  readonly slugs: readonly string[];
}

export const removeUserBadges = {
  operations: [forge.removeUserBadges],
  output: shape({
    taken: "boolean",
    username: "string",
    badge_slugs: { type: "array", items: { type: "string" } },
  }),
  destructive: false,
  define(command, cli, run = runUserBadgeRemove): void {
    command
      .argument("<username>", "the user's name")
      .argument("<slug...>", "badges by their slugs")
      .action((username: string, slugs: readonly string[]) => run(cli, { username, slugs }));
  },
} satisfies CommandModule;

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
