import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../find-connection.ts";

export const operations = [vault.listConnections, vault.deleteConnection];
export const output = shape({ deleted: "boolean", id: "string", display_name: "string" });
export const destructive = true;
export const completions = { connection: "connections" } as const;

/** What the command was given. */
export interface ConnectionRemoveOptions {
  readonly connection: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionRemove): void {
  command
    .argument("<connection>", "the connection's name or id")
    .action((connection: string) => run(cli, { connection }));
}

/** Has the daemon forget a connection, its credentials and its cached bytes. The storage's own files stay. */
async function runConnectionRemove(
  cli: CliContext,
  { connection }: ConnectionRemoveOptions,
): Promise<void> {
  const { id, display_name: name } = pickConnection(await readConnections(cli), connection);
  await cli.prompts.confirm(`Forget the connection ${name} and leave its files where they are?`);
  await cli.client.call(vault.deleteConnection, { params: { connection_id: id } });
  await cli.output.done(
    { deleted: true, id, display_name: name },
    `Forgot the connection ${name}.`,
  );
}
