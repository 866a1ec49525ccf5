import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../find-connection.ts";
import { readSecrets } from "./ask-settings.ts";
import { connectionColumns } from "./connection-columns.ts";
import { signInAtProvider } from "./sign-in-at-provider.ts";

export const operations = [
  vault.listConnections,
  vault.listProviders,
  vault.authorize,
  vault.updateConnection,
];
export const output = resourceOf(vault.updateConnection);
export const completions = { connection: "connections" } as const;

/** What the command was given. */
export interface ConnectionReconnectOptions {
  readonly connection: string;
  /** The secret settings whose values are on standard input, with commas in between. */
  readonly credentialFromInput?: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionReconnect): void {
  command
    .argument("<connection>", "the connection's name or id")
    .option(
      "--credential-stdin <keys>",
      "read these secret settings from standard input, a line each",
    )
    .action((connection: string, { credentialStdin }: { readonly credentialStdin?: string }) =>
      run(cli, {
        connection,
        ...(credentialStdin === undefined ? {} : { credentialFromInput: credentialStdin }),
      }),
    );
}

/** Gives a connection fresh credentials: those that the person types, or by signing in at the provider again. */
async function runConnectionReconnect(
  cli: CliContext,
  { connection: word, credentialFromInput }: ConnectionReconnectOptions,
): Promise<void> {
  const connection = pickConnection(await readConnections(cli), word);
  const { body } = await cli.client.call(vault.listProviders, { query: { per_page: 100 } });
  const provider = body.items.find(({ type }) => type === connection.provider);
  if (provider === undefined)
    throw new CliError("unsupported", `this server does not know ${connection.provider} any more`);
  if (provider.sign_in === "oauth") {
    const { type, title } = provider;
    const renewed = await signInAtProvider(cli, { provider: type, title, for: { connection } });
    return cli.output.resource(renewed, connectionColumns);
  }
  if (provider.settings.every(({ secret }) => !secret))
    throw usageError(
      `${provider.title} needs no credentials`,
      `"croft vault connection test ${word}" looks whether it answers`,
    );
  const credentials = await readSecrets(cli, provider, credentialFromInput);
  const { body: renewed } = await cli.client.call(vault.updateConnection, {
    params: { connection_id: connection.id },
    body: { credentials },
  });
  await cli.output.resource(renewed, connectionColumns);
}
