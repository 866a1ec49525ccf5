import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../find-connection.ts";
import { connectionColumns } from "./connection-columns.ts";

export const operations = [vault.listConnections, vault.getConnection];
export const output = resourceOf(vault.getConnection);
export const completions = { connection: "connections" } as const;

/** What the command was given. */
export interface ConnectionViewOptions {
  readonly connection: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionView): void {
  command
    .argument("<connection>", "the connection's name or id")
    .action((connection: string) => run(cli, { connection }));
}

/** Prints one connection. */
async function runConnectionView(
  cli: CliContext,
  { connection }: ConnectionViewOptions,
): Promise<void> {
  const { id } = pickConnection(await readConnections(cli), connection);
  const { body } = await cli.client.call(vault.getConnection, { params: { connection_id: id } });
  await cli.output.resource(body, connectionColumns);
}
