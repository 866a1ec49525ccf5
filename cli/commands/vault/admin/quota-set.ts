import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import { toByteSize } from "../../../byte-size.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { quotaColumns } from "../quota-columns.ts";
import { findUserId } from "./find-user.ts";

export const operations = [vault.setUserQuota, vault.listUsers];
export const output = resourceOf(vault.setUserQuota);

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
  const { body } = await cli.client.call(vault.setUserQuota, {
    params: { id },
    body: { limit_bytes: limitBytes },
  });
  await cli.output.resource(body, quotaColumns);
}
