import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.deleteBadge];
export const output = shape({ deleted: "boolean", slug: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runBadgeDelete): void {
  command.argument("<slug>", "the badge").action((slug: string) => run(cli, { slug }));
}

/** Deletes a badge, and so takes it from everybody who has it. */
async function runBadgeDelete(cli: CliContext, { slug }: { readonly slug: string }): Promise<void> {
  await cli.prompts.confirm(`Delete the badge ${slug} and take it from everybody?`);
  await cli.client.call(forge.deleteBadge, { params: { slug } });
  await cli.output.done({ deleted: true, slug }, `Deleted the badge ${slug}.`);
}
