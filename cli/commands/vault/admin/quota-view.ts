import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { quotaColumns } from "../quota-columns.ts";
import { findUserId } from "./find-user.ts";

export const operations = [vault.viewUserQuota, vault.listUsers];
export const output = resourceOf(vault.viewUserQuota);

/** What the command was given. */
export interface QuotaViewOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runQuotaView): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Prints a user's quota. */
async function runQuotaView(cli: CliContext, { user }: QuotaViewOptions): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.viewUserQuota, { params: { id } });
  await cli.output.resource(body, quotaColumns);
}
