import type { WireBadge } from "../../../daemon/contract/forge/accounts/badges.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { findFirst } from "../../output/pages.ts";
import { createIfAbsent, ifAbsentFlag } from "../../support/if-absent.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List badges", {
    aliases: ["ls"],
    calls: [forge.listBadges],
    output: listOf(forge.listBadges),
    examples: [
      ["List badges", "croft admin badge list"],
      ["Print their slugs", "croft admin badge list --jq '.[].slug'"],
    ],
    /** Prints the badges that users can have. */
    async run(cli) {
      await cli.output.list(forgePages(cli.client, forge.listBadges, {}), badgeColumns);
    },
  }),
  command("create", "Create a badge", {
    args: { "<slug>": "the badge's name in commands and requests" },
    flags: {
      ...ifAbsentFlag,
      "--description <text>": "the description",
      "--image-url <url>": "the address of its picture",
    },
    calls: [forge.createBadge, forge.listBadges],
    output: resourceOf(forge.createBadge, 201),
    examples: [
      [
        "Create a badge",
        'croft admin badge create maintainer --description "Maintains a repository"',
      ],
      [
        "Create a badge with a picture",
        "croft admin badge create founder --image-url https://example.org/founder.png",
      ],
      ["In a script that may run again", "croft admin badge create maintainer --if-absent"],
    ],
    /** Creates a badge; `admin user badge add` gives it to users. */
    async run(cli, options) {
      const { slug, description, imageUrl } = options;
      const { value } = await createIfAbsent<WireBadge>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the badge ${slug}`,
        find: () =>
          findFirst(forgePages(cli.client, forge.listBadges, {}), (badge) => badge.slug === slug),
        create: async () => {
          const body = { slug, description, image_url: imageUrl };
          return (await cli.client.call(forge.createBadge, { body })).body;
        },
        settings: (existing) => [
          { flag: "--description", requested: description, existing: existing.description },
          { flag: "--image-url", requested: imageUrl, existing: existing.image_url },
        ],
      });
      await cli.output.resource(value, badgeColumns);
    },
  }),
  command("delete", "Delete a badge", {
    aliases: ["rm"],
    args: { "<slug>": "the badge" },
    calls: [forge.deleteBadge],
    output: shape({ deleted: "boolean", slug: "string" }),
    destructive: true,
    examples: [
      ["Delete a badge", "croft admin badge delete maintainer --yes"],
      ["Show the request only", "croft admin badge delete maintainer --dry-run"],
    ],
    /** Deletes a badge, which removes it from all users who have it. */
    async run(cli, { slug }) {
      await cli.prompts.confirm(`Delete the badge ${slug} and remove it from all users?`);
      await cli.client.call(forge.deleteBadge, { params: { slug } });
      await cli.output.done({ deleted: true, slug }, `Deleted the badge ${slug}.`);
    },
  }),
];

/** A badge in a table. */
export const badgeColumns: readonly Column<WireBadge>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "slug", cell: ({ slug }) => slug },
  { header: "description", cell: ({ description }) => description },
  { header: "image", cell: ({ image_url: imageUrl }) => imageUrl },
];
