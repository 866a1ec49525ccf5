import type { Command } from "commander";
import type { setUserQuota as setUserQuotaEndpoint } from "../../../../daemon/contract/vault/admin.ts";
import { toByteSize } from "../../../byte-size.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { quotaColumns } from "../quota-columns.ts";
import { findUserId, listVaultUsers } from "./find-user.ts";

const setUserQuota = operation<typeof setUserQuotaEndpoint>(
  "vault.admin.quota.edit",
  "PUT",
  "/api/admin/users/:id/quota",
);

export const operations = [setUserQuota, listVaultUsers];
export const output = resourceOf(setUserQuota);

/** What the command was given. */
export interface QuotaSetOptions {
  readonly user: string;
  readonly limitBytes: number;
}

export function define(command: Command, cli: CliContext, run = runQuotaSet): void {
  command
    .argument("<user>", "the user's handle or id")
    .requiredOption("--limit <size>", "bytes, or a size such as 500MiB or 2GiB")
    .action((user: string, { limit }: { readonly limit: string }) =>
      run(cli, { user, limitBytes: toByteSize(limit) }),
    );
}

/** Sets the limit of a user's quota and prints it. A limit below what is used lets nothing more in. */
async function runQuotaSet(cli: CliContext, { user, limitBytes }: QuotaSetOptions): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(setUserQuota, {
    params: { id },
    body: { limit_bytes: limitBytes },
  });
  await cli.output.resource(body, quotaColumns);
}
