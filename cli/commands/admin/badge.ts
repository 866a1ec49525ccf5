import type { WireBadge } from "../../../daemon/contract/forge/accounts/badges.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { findFirst } from "../../output/pages.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../../support/if-absent.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List badges", () => listBadges, { aliases: ["ls"] }),
  verb("create", "Create a badge", () => createBadge),
  verb("delete", "Delete a badge", () => deleteBadge, { aliases: ["rm"] }),
];

const listBadges = {
  operations: [forge.listBadges],
  output: listOf(forge.listBadges),
  define(command, cli, run = runBadgeList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the badges that users can have. */
async function runBadgeList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listBadges, {}), badgeColumns);
}

interface BadgeCreateOptions extends IfAbsentFlag {
  readonly slug: string;
  readonly description?: string;
  readonly imageUrl?: string;
}

export const createBadge = {
  operations: [forge.createBadge, forge.listBadges],
  output: resourceOf(forge.createBadge, 201),
  define(command, cli, run = runBadgeCreate): void {
    addIfAbsentFlag(command)
      .argument("<slug>", "the badge's name in commands and requests")
      .option("--description <text>", "the description")
      .option("--image-url <url>", "the address of its picture")
      .action((slug: string, flags: Omit<BadgeCreateOptions, "slug">) =>
        run(cli, { slug, ...flags }),
      );
  },
} satisfies CommandModule;

/** Creates a badge; `admin user badge add` gives it to users. */
async function runBadgeCreate(cli: CliContext, options: BadgeCreateOptions): Promise<void> {
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
}

export const deleteBadge = {
  operations: [forge.deleteBadge],
  output: shape({ deleted: "boolean", slug: "string" }),
  destructive: true,
  define(command, cli, run = runBadgeDelete): void {
    command.argument("<slug>", "the badge").action((slug: string) => run(cli, { slug }));
  },
} satisfies CommandModule;

/** Deletes a badge, which removes it from all users who have it. */
async function runBadgeDelete(cli: CliContext, { slug }: { readonly slug: string }): Promise<void> {
  await cli.prompts.confirm(`Delete the badge ${slug} and remove it from all users?`);
  await cli.client.call(forge.deleteBadge, { params: { slug } });
  await cli.output.done({ deleted: true, slug }, `Deleted the badge ${slug}.`);
}

/** A badge in a table. */
export const badgeColumns: readonly Column<WireBadge>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "slug", cell: ({ slug }) => slug },
  { header: "description", cell: ({ description }) => description },
  { header: "image", cell: ({ image_url: imageUrl }) => imageUrl },
];
