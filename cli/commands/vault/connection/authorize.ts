import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { time } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../find-connection.ts";

export const operations = [vault.listConnections, vault.authorize];
export const output = resourceOf(vault.authorize);

/** What the command was given. */
export interface ConnectionAuthorizeOptions {
  readonly provider: string;
  readonly name?: string;
  /** The connection whose credentials are renewed. */
  readonly connection?: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionAuthorize): void {
  command
    .argument(
      "<provider>",
      "google_drive, onedrive, dropbox or another that is connected in a browser",
    )
    .option("--name <name>", "a name for the connection that will be made")
    .option("--connection <connection>", "renew the credentials of this one instead")
    .action((provider: string, options: Omit<ConnectionAuthorizeOptions, "provider">) => {
      if (options.name !== undefined && options.connection !== undefined)
        throw usageError("--name and --connection exclude each other");
      return run(cli, { provider, ...options });
    });
}

/** Prints the address at which a person signs in at a provider, without waiting for it. It is good once. */
async function runConnectionAuthorize(
  cli: CliContext,
  { provider, name, connection }: ConnectionAuthorizeOptions,
): Promise<void> {
  const renewed =
    connection === undefined ? undefined : pickConnection(await readConnections(cli), connection);
  const { body } = await cli.client.call(vault.authorize, {
    params: { provider },
    query: {
      ...(name === undefined ? {} : { display_name: name }),
      ...(renewed === undefined ? {} : { connection_id: renewed.id }),
    },
  });
  await cli.output.resource(body, [
    { header: "address", cell: ({ authorization_url: address }) => address },
    { header: "good until", cell: ({ expires_at: expiresAt }) => time(expiresAt) },
  ]);
}
