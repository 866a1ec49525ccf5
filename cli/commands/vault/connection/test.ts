import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { CliError, exitCodeOf } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../find-connection.ts";
import { connectionColumns } from "./connection-columns.ts";

export const operations = [vault.listConnections, vault.testConnection];
export const output = resourceOf(vault.testConnection);
export const completions = { connection: "connections" } as const;

/** What the command was given. */
export interface ConnectionTestOptions {
  readonly connection: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionTest): void {
  command
    .argument("<connection>", "the connection's name or id")
    .action((connection: string) => run(cli, { connection }));
}

/** Has the daemon look at the storage now. A storage that does not answer as it should ends with its own code. */
async function runConnectionTest(
  cli: CliContext,
  { connection }: ConnectionTestOptions,
): Promise<void> {
  const { id } = pickConnection(await readConnections(cli), connection);
  const { body } = await cli.client.call(vault.testConnection, { params: { connection_id: id } });
  await cli.output.resource(body, connectionColumns);
  if (body.status === "offline")
    cli.finishWith(exitCodeOf(new CliError("provider_offline", "the storage is offline")));
  if (body.status === "reauth_required")
    cli.finishWith(exitCodeOf(new CliError("reauth_required", "the credentials are refused")));
}
