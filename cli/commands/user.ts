import type { WireUser } from "../../daemon/contract/forge/accounts/users.ts";
import { forge } from "../client/operations.ts";
import { forgePages, forgeSearchPages } from "../client/paging.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import { type Entry, noun } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const userArgument = { "<username>": "the user's name" } as const;

export const entries: readonly Entry[] = [
  command("search", "Search for users", {
    args: { "[text]": "part of the name, the full name or a shown e-mail address" },
    calls: [forge.searchUsers],
    output: listOf(forge.searchUsers, "data"),
    examples: [
      ["Search for users", "croft user search mira"],
      ["Print the names of all users that you may see", "croft user search --all --jq '.[].login'"],
    ],
    /** Prints the users that match a text, or all that the caller may see. */
    async run(cli, { text }) {
      const input = { query: { q: text } };
      await cli.output.list(forgeSearchPages(cli.client, forge.searchUsers, input), personColumns);
    },
  }),
  command("view", "Show a user", {
    args: userArgument,
    calls: [forge.getUser],
    output: resourceOf(forge.getUser),
    examples: [
      ["Show a user", "croft user view mira"],
      ["Print the full name", "croft user view mira --jq .full_name"],
    ],
    async run(cli, { username }) {
      const { body } = await cli.client.call(forge.getUser, { params: { username } });
      await cli.output.resource(body, userLines);
    },
  }),
  command("follow", "Follow a user or an organization", {
    args: userArgument,
    calls: [forge.followUser],
    output: shape({ following: "boolean", username: "string" }),
    examples: [
      ["Follow a user", "croft user follow mira"],
      ["Show the request only", "croft user follow mira --dry-run"],
    ],
    async run(cli, { username }) {
      await cli.client.call(forge.followUser, { params: { username } });
      await cli.output.done({ following: true, username }, `Following ${username}.`);
    },
  }),
  command("unfollow", "Stop following a user or an organization", {
    args: userArgument,
    calls: [forge.unfollowUser],
    output: shape({ following: "boolean", username: "string" }),
    /** Unfollowing can be undone, so it needs no confirmation. */
    destructive: false,
    examples: [
      ["Stop following", "croft user unfollow mira"],
      ["Show the request only", "croft user unfollow mira --dry-run"],
    ],
    /** Stops following an account. */
    async run(cli, { username }) {
      await cli.client.call(forge.unfollowUser, { params: { username } });
      await cli.output.done({ following: false, username }, `No longer following ${username}.`);
    },
  }),
  noun("block", "Block users", () => import("./user-block.ts")),
  command("followers", "List the users who follow you or another user", {
    args: { "[username]": "the user; you by default" },
    calls: [forge.listOwnFollowers, forge.listUserFollowers],
    output: listOf(forge.listOwnFollowers),
    examples: [
      ["List your followers", "croft user followers"],
      ["List those of another user", "croft user followers mira"],
    ],
    /** Prints the followers of the caller or of another account. */
    async run(cli, { username }) {
      const pages =
        username === undefined
          ? forgePages(cli.client, forge.listOwnFollowers, {})
          : forgePages(cli.client, forge.listUserFollowers, { params: { username } });
      await cli.output.list(pages, personColumns);
    },
  }),
  command("following", "List the users whom you or another user follow", {
    args: { "[username]": "the user; you by default" },
    calls: [forge.listOwnFollowed, forge.listUserFollowed],
    output: listOf(forge.listOwnFollowed),
    examples: [
      ["List whom you follow", "croft user following"],
      ["List whom another user follows", "croft user following mira"],
    ],
    /** Prints the users that the caller or another user follows. */
    async run(cli, { username }) {
      const pages =
        username === undefined
          ? forgePages(cli.client, forge.listOwnFollowed, {})
          : forgePages(cli.client, forge.listUserFollowed, { params: { username } });
      await cli.output.list(pages, personColumns);
    },
  }),
];

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
