import type { Command } from "commander";
import type { me as meEndpoint } from "../../../daemon/contract/vault/auth.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { accountColumns } from "./account-columns.ts";

const me = operation<typeof meEndpoint>("vault.auth.account.me", "GET", "/api/auth/me");

export const operations = [me];
export const output = resourceOf(me);

export function define(command: Command, cli: CliContext, run = runMe): void {
  command.action(() => run(cli));
}

/** Prints the caller's account. */
async function runMe(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(me);
  await cli.output.resource(body, accountColumns);
}
