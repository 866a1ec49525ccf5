import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, shape } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { badgeColumns } from "./badge.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List the badges of a forge user", {
    aliases: ["ls"],
    args: { "<username>": "the user's name" },
    calls: [forge.listUserBadges],
    output: listOf(forge.listUserBadges),
    examples: [
      ["List the badges of a user", "croft admin user badge list mira"],
      ["Print their slugs", "croft admin user badge list mira --jq '.[].slug'"],
    ],
    /** Prints a user's badges. */
    async run(cli, params) {
      await cli.output.list(forgePages(cli.client, forge.listUserBadges, { params }), badgeColumns);
    },
  }),
  command("add", "Add badges to a forge user", {
    args: { "<username>": "the user's name", "<slug...>": "badges by their slugs" },
    calls: [forge.addUserBadges],
    output: shape({
      given: "boolean",
      username: "string",
      badge_slugs: { type: "array", items: { type: "string" } },
    }),
    examples: [
      ["Give a user a badge", "croft admin user badge add mira maintainer"],
      ["Give several badges", "croft admin user badge add mira maintainer founder"],
    ],
    /** Gives badges to a user, atomically. */
    async run(cli, { username, slug: slugs }) {
      const body = { badge_slugs: [...slugs] };
      await cli.client.call(forge.addUserBadges, { params: { username }, body });
      await cli.output.done(
        { given: true, username, badge_slugs: slugs },
        `Gave ${slugs.join(", ")} to ${username}.`,
      );
    },
  }),
  command("remove", "Remove badges from a forge user", {
    aliases: ["rm"],
    args: { "<username>": "the user's name", "<slug...>": "badges by their slugs" },
    calls: [forge.removeUserBadges],
    output: shape({
      taken: "boolean",
      username: "string",
      badge_slugs: { type: "array", items: { type: "string" } },
    }),
    destructive: false,
    examples: [
      ["Take a badge from a user", "croft admin user badge remove mira maintainer"],
      ["Show the request only", "croft admin user badge remove mira maintainer --dry-run"],
    ],
    /** Takes badges from a user; those that the user does not have are ignored. */
    async run(cli, { username, slug: slugs }) {
      const body = { badge_slugs: [...slugs] };
      await cli.client.call(forge.removeUserBadges, { params: { username }, body });
      await cli.output.done(
        { taken: true, username, badge_slugs: slugs },
        `Took ${slugs.join(", ")} from ${username}.`,
      );
    },
  }),
];
