import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { connectionColumns } from "./connection-columns.ts";

export const operations = [vault.listConnections];
export const output = listOf(vault.listConnections, "items");

export function define(command: Command, cli: CliContext, run = runConnectionList): void {
  command.action(() => run(cli));
}

/** Prints the caller's connections, oldest first. */
async function runConnectionList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listConnections, {}), connectionColumns);
}
