import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, exitCodeOf, usageError } from "../../../errors.ts";
import { listOf, resourceOf, shape } from "../../../output/spec.ts";
import {
  connectionColumns,
  connectionDetailColumns,
  pickConnection,
  readConnections,
} from "../../../support/connection.ts";
import { readSecret, readSecretLines } from "../../../support/secrets.ts";
import { type CommandModule, type Entry, verb } from "../../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your connections", () => listConnections, { aliases: ["ls"] }),
  verb("add", "Add a connection", async () => (await import("./add.ts")).addConnection),
  verb("view", "Show a connection", () => viewConnection),
  verb("test", "Test a connection", () => testConnection),
  verb("edit", "Edit the name or credentials of a connection", () => editConnection),
  verb(
    "reconnect",
    "Renew the credentials of a connection",
    async () => (await import("./authorize.ts")).reconnectConnection,
  ),
  verb(
    "authorize",
    "Print the URL where you authorize a provider",
    async () => (await import("./authorize.ts")).authorizeConnection,
  ),
  verb("remove", "Remove a connection; its files stay", () => removeConnection, {
    aliases: ["rm"],
  }),
];

const listConnections = {
  operations: [vault.listConnections],
  output: listOf(vault.listConnections, "items"),
  define(command, cli, run = runConnectionList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's connections, oldest first. */
async function runConnectionList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listConnections, {}), connectionColumns);
}

interface ConnectionViewOptions {
  readonly connection: string;
}

export const viewConnection = {
  operations: [vault.listConnections, vault.getConnection],
  output: resourceOf(vault.getConnection),
  completions: { connection: "connections" },
  define(command, cli, run = runConnectionView): void {
    command
      .argument("<connection>", "the connection's name or id")
      .action((connection: string) => run(cli, { connection }));
  },
} satisfies CommandModule;

/** Prints one connection with the capabilities of its storage. */
async function runConnectionView(
  cli: CliContext,
  { connection }: ConnectionViewOptions,
): Promise<void> {
  const { id } = pickConnection(await readConnections(cli), connection);
  const { body } = await cli.client.call(vault.getConnection, { params: { connection_id: id } });
  await cli.output.resource(body, connectionDetailColumns);
}

interface ConnectionTestOptions {
  readonly connection: string;
}

export const testConnection = {
  operations: [vault.listConnections, vault.testConnection],
  output: resourceOf(vault.testConnection),
  completions: { connection: "connections" },
  define(command, cli, run = runConnectionTest): void {
    command
      .argument("<connection>", "the connection's name or id")
      .action((connection: string) => run(cli, { connection }));
  },
} satisfies CommandModule;

/** Requests a check of the storage. A failed check has its own exit code. */
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

interface ConnectionEditOptions {
  readonly connection: string;
  readonly name?: string;
  /** The secret settings that take new values. */
  readonly credentials: readonly string[];
  /** The names of those whose values are on standard input, separated by commas. */
  readonly credentialFromInput?: string;
}

interface Flags {
  readonly name?: string;
  readonly ask?: readonly string[];
  readonly credentialStdin?: string;
}

export const editConnection = {
  operations: [vault.listConnections, vault.updateConnection],
  output: resourceOf(vault.updateConnection),
  completions: { connection: "connections" },
  define(command, cli, run = runConnectionEdit): void {
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
          throw usageError(
            "there is nothing to change",
            "give --name, --ask or --credential-stdin",
          );
        return run(cli, {
          connection,
          credentials: [...new Set(credentials)],
          ...(name === undefined ? {} : { name }),
          ...(credentialStdin === undefined ? {} : { credentialFromInput: credentialStdin }),
        });
      });
  },
} satisfies CommandModule;

/** Renames a connection or replaces its credentials. The daemon tests new credentials before it stores them. */
async function runConnectionEdit(
  cli: CliContext,
  { connection, name, credentials, credentialFromInput }: ConnectionEditOptions,
): Promise<void> {
  const { id } = pickConnection(await readConnections(cli), connection);
  const keys = credentialFromInput?.split(",") ?? [];
  const flag = `--credential-stdin ${credentialFromInput}`;
  const values = keys.length === 0 ? {} : await readSecretLines(cli, keys, flag);
  for (const key of credentials.filter((one) => !keys.includes(one)))
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

interface ConnectionRemoveOptions {
  readonly connection: string;
}

export const removeConnection = {
  operations: [vault.listConnections, vault.deleteConnection],
  output: shape({ deleted: "boolean", id: "string", display_name: "string" }),
  destructive: true,
  completions: { connection: "connections" },
  define(command, cli, run = runConnectionRemove): void {
    command
      .argument("<connection>", "the connection's name or id")
      .action((connection: string) => run(cli, { connection }));
  },
} satisfies CommandModule;

/** Deletes a connection with its credentials and cached bytes. The files in the storage stay. */
async function runConnectionRemove(
  cli: CliContext,
  { connection }: ConnectionRemoveOptions,
): Promise<void> {
  const { id, display_name: name } = pickConnection(await readConnections(cli), connection);
  await cli.prompts.confirm(`Remove the connection ${name}? Its files stay in the storage.`);
  await cli.client.call(vault.deleteConnection, { params: { connection_id: id } });
  await cli.output.done(
    { deleted: true, id, display_name: name },
    `Removed the connection ${name}.`,
  );
}
