import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import { forge } from "../client/operations.ts";
import { forgePages, forgeSearchPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("search", "Search for users", () => searchUsers),
  verb("view", "Show a user", () => viewUser),
  verb("follow", "Follow a user or an organization", () => followUser),
  verb("unfollow", "Stop following a user or an organization", () => unfollowUser),
  verb("followers", "List the users who follow you or another user", () => listFollowers),
  verb("following", "List the users whom you or another user follow", () => listFollowing),
];

const userArgument = ["<username>", "the user's name"] as const;

const userLines: readonly Column<WireUser>[] = [
  ...personColumns,
  { header: "e-mail", cell: ({ email }) => email },
  { header: "website", cell: ({ website }) => website },
  { header: "location", cell: ({ location }) => location },
  { header: "description", cell: ({ description }) => description },
  { header: "followers", cell: ({ followers_count: followers }) => followers },
  { header: "following", cell: ({ following_count: following }) => following },
  { header: "stars", cell: ({ starred_repos_count: stars }) => stars },
];

const searchUsers = {
  operations: [forge.searchUsers],
  output: listOf(forge.searchUsers, "data"),
  define(command, cli, run = runUserSearch): void {
    command
      .argument("[text]", "part of the name, the full name or a shown e-mail address")
      .action((text: string | undefined) => run(cli, text));
  },
} satisfies CommandModule;

/** Prints the users that match a text, or all that the caller may see. */
async function runUserSearch(cli: CliContext, text = ""): Promise<void> {
  const input = { query: { q: text } };
  await cli.output.list(forgeSearchPages(cli.client, forge.searchUsers, input), personColumns);
}

const viewUser = {
  operations: [forge.getUser],
  output: resourceOf(forge.getUser),
  define(command, cli, run = runUserView): void {
    command.argument(...userArgument).action((username: string) => run(cli, username));
  },
} satisfies CommandModule;

async function runUserView(cli: CliContext, username: string): Promise<void> {
  const { body } = await cli.client.call(forge.getUser, { params: { username } });
  await cli.output.resource(body, userLines);
}

export const followUser = {
  operations: [forge.followUser],
  output: shape({ following: "boolean", username: "string" }),
  define(command, cli, run = runFollow): void {
    command.argument(...userArgument).action((username: string) => run(cli, username));
  },
} satisfies CommandModule;

async function runFollow(cli: CliContext, username: string): Promise<void> {
  await cli.client.call(forge.followUser, { params: { username } });
  await cli.output.done({ following: true, username }, `Following ${username}.`);
}

const unfollowUser = {
  operations: [forge.unfollowUser],
  output: shape({ following: "boolean", username: "string" }),
  /** Unfollowing can be undone, so it needs no confirmation. */
  destructive: false,
  define(command, cli, run = runUnfollow): void {
    command.argument(...userArgument).action((username: string) => run(cli, username));
  },
} satisfies CommandModule;

/** Stops following an account. */
async function runUnfollow(cli: CliContext, username: string): Promise<void> {
  await cli.client.call(forge.unfollowUser, { params: { username } });
  await cli.output.done({ following: false, username }, `No longer following ${username}.`);
}

const listFollowers = {
  operations: [forge.listOwnFollowers, forge.listUserFollowers],
  output: listOf(forge.listOwnFollowers),
  define(command, cli, run = runFollowers): void {
    command
      .argument("[username]", "the user; you by default")
      .action((username: string | undefined) => run(cli, username));
  },
} satisfies CommandModule;

/** Prints the followers of the caller or of another account. */
async function runFollowers(cli: CliContext, username: string | undefined): Promise<void> {
  const pages =
    username === undefined
      ? forgePages(cli.client, forge.listOwnFollowers, {})
      : forgePages(cli.client, forge.listUserFollowers, { params: { username } });
  await cli.output.list(pages, personColumns);
}

const listFollowing = {
  operations: [forge.listOwnFollowed, forge.listUserFollowed],
  output: listOf(forge.listOwnFollowed),
  define(command, cli, run = runFollowing): void {
    command
      .argument("[username]", "the user; you by default")
      .action((username: string | undefined) => run(cli, username));
  },
} satisfies CommandModule;

/** Prints the users that the caller or another user follows. */
async function runFollowing(cli: CliContext, username: string | undefined): Promise<void> {
  const pages =
    username === undefined
      ? forgePages(cli.client, forge.listOwnFollowed, {})
      : forgePages(cli.client, forge.listUserFollowed, { params: { username } });
  await cli.output.list(pages, personColumns);
}
