import type { Command } from "commander";
import type { deleteBadge as deleteBadgeEndpoint } from "../../../../daemon/contract/forge/accounts/badges.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

const deleteBadge = operation<typeof deleteBadgeEndpoint>(
  "forge.admin.badges.delete",
  "DELETE",
  "/api/v1/admin/badges/:slug",
);

export const operations = [deleteBadge];
export const output = shape({ deleted: "boolean", slug: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runBadgeDelete): void {
  command.argument("<slug>", "the badge").action((slug: string) => run(cli, { slug }));
}

/** Deletes a badge, and so takes it from everybody who has it. */
async function runBadgeDelete(cli: CliContext, { slug }: { readonly slug: string }): Promise<void> {
  await cli.prompts.confirm(`Delete the badge ${slug} and take it from everybody?`);
  await cli.client.call(deleteBadge, { params: { slug } });
  await cli.output.done({ deleted: true, slug }, `Deleted the badge ${slug}.`);
}
