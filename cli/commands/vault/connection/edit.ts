import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readSecret, readSecretLines } from "../../secret-input.ts";
import { pickConnection, readConnections } from "../find-connection.ts";
import { connectionColumns } from "./connection-columns.ts";

export const operations = [vault.listConnections, vault.updateConnection];
export const output = resourceOf(vault.updateConnection);
export const completions = { connection: "connections" } as const;

/** What the command was given. */
export interface ConnectionEditOptions {
  readonly connection: string;
  readonly name?: string;
  /** The secret settings that take new values. */
  readonly credentials: readonly string[];
  /** Those of them whose values are on standard input, with commas in between. */
  readonly credentialFromInput?: string;
}

interface Flags {
  readonly name?: string;
  readonly ask?: readonly string[];
  readonly credentialStdin?: string;
}

export function define(command: Command, cli: CliContext, run = runConnectionEdit): void {
  command
    .argument("<connection>", "the connection's name or id")
    .option("--name <name>", "another name")
    .option("--ask <key...>", "ask for a new value of this secret setting")
    .option(
      "--credential-stdin <keys>",
      "read the new values of these from standard input, a line each",
    )
    .action((connection: string, { name, ask = [], credentialStdin }: Flags) => {
      const credentials = [...ask, ...(credentialStdin?.split(",") ?? [])];
      if (name === undefined && credentials.length === 0)
        throw usageError("there is nothing to change", "give --name, --ask or --credential-stdin");
      return run(cli, {
        connection,
        credentials: [...new Set(credentials)],
        ...(name === undefined ? {} : { name }),
        ...(credentialStdin === undefined ? {} : { credentialFromInput: credentialStdin }),
      });
    });
}

/** Gives a connection another name or other credentials. The daemon tries new credentials before it keeps them. */
async function runConnectionEdit(
  cli: CliContext,
  { connection, name, credentials, credentialFromInput }: ConnectionEditOptions,
): Promise<void> {
  const { id } = pickConnection(await readConnections(cli), connection);
  const given = credentialFromInput?.split(",") ?? [];
  const flag = `--credential-stdin ${credentialFromInput}`;
  const values = given.length === 0 ? {} : await readSecretLines(cli, given, flag);
  for (const key of credentials.filter((one) => !given.includes(one)))
    values[key] = await readSecret(cli, {
      fromInput: false,
      question: `${key}:`,
      flag: `--credential-stdin ${key}`,
    });
  const { body } = await cli.client.call(vault.updateConnection, {
    params: { connection_id: id },
    body: {
      ...(name === undefined ? {} : { display_name: name }),
      ...(credentials.length === 0 ? {} : { credentials: values }),
    },
  });
  await cli.output.resource(body, connectionColumns);
}
