import type { Command } from "commander";
import type { viewUserQuota as viewUserQuotaEndpoint } from "../../../../daemon/contract/vault/admin.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { quotaColumns } from "../quota-columns.ts";
import { findUserId, listVaultUsers } from "./find-user.ts";

const viewUserQuota = operation<typeof viewUserQuotaEndpoint>(
  "vault.admin.quota.view",
  "GET",
  "/api/admin/users/:id/quota",
);

export const operations = [viewUserQuota, listVaultUsers];
export const output = resourceOf(viewUserQuota);

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
  const { body } = await cli.client.call(viewUserQuota, { params: { id } });
  await cli.output.resource(body, quotaColumns);
}
