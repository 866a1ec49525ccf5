import type { Command } from "commander";
import type { myQuota as myQuotaEndpoint } from "../../../daemon/contract/vault/auth.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { quotaColumns } from "./quota-columns.ts";

const myQuota = operation<typeof myQuotaEndpoint>(
  "vault.auth.quota.view",
  "GET",
  "/api/auth/me/quota",
);

export const operations = [myQuota];
export const output = resourceOf(myQuota);

export function define(command: Command, cli: CliContext, run = runQuota): void {
  command.action(() => run(cli));
}

/** Prints the caller's storage quota. Connected storages do not count. */
async function runQuota(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(myQuota);
  await cli.output.resource(body, quotaColumns);
}
