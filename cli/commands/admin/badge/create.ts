import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { badgeColumns } from "./badge-columns.ts";

export const operations = [forge.createBadge];
export const output = resourceOf(forge.createBadge, 201);

/** What the command was given. */
export interface BadgeCreateOptions {
  readonly slug: string;
  readonly description?: string;
  readonly imageUrl?: string;
}

export function define(command: Command, cli: CliContext, run = runBadgeCreate): void {
  command
    .argument("<slug>", "the badge's name in commands and requests")
    .option("--description <text>", "what it is given for")
    .option("--image-url <url>", "the address of its picture")
    .action((slug: string, flags: Omit<BadgeCreateOptions, "slug">) =>
      run(cli, { slug, ...flags }),
    );
}

/** Defines a badge that can be given to users. */
async function runBadgeCreate(cli: CliContext, options: BadgeCreateOptions): Promise<void> {
  const { slug, description, imageUrl } = options;
  const { body } = await cli.client.call(forge.createBadge, {
    body: { slug, description, image_url: imageUrl },
  });
  await cli.output.resource(body, badgeColumns);
}
