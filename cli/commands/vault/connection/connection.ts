import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import { CliError, exitCodeOf, usageError } from "../../../errors.ts";
import { listOf, resourceOf, shape } from "../../../output/spec.ts";
import {
  connectionColumns,
  connectionDetailColumns,
  pickConnection,
  readConnections,
} from "../../../support/connection.ts";
import { readSecret, readSecretLines } from "../../../support/secrets.ts";
import type { Entry } from "../../../tree/entry.ts";
import { command } from "../../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your connections", {
    aliases: ["ls"],
    calls: [vault.listConnections],
    output: listOf(vault.listConnections, "items"),
    examples: [
      ["List your connections", "croft vault connection list"],
      [
        "Print name and state",
        "croft vault connection list --template '{{.display_name}} {{.status}}'",
      ],
    ],
    /** Prints the caller's connections, oldest first. */
    async run(cli) {
      await cli.output.list(vaultPages(cli.client, vault.listConnections, {}), connectionColumns);
    },
  }),
  command("add", "Add a connection", async () => (await import("./add.ts")).addConnection),
  command("view", "Show a connection", {
    args: { "<connection>": "the connection's name or id" },
    calls: [vault.listConnections, vault.getConnection],
    output: resourceOf(vault.getConnection),
    completions: { connection: "connections" },
    examples: [
      ["Show a connection", "croft vault connection view Papers"],
      ["Print its provider", "croft vault connection view Papers --jq .provider"],
    ],
    /** Prints one connection with the capabilities of its storage. */
    async run(cli, { connection }) {
      const { id } = pickConnection(await readConnections(cli), connection);
      const { body } = await cli.client.call(vault.getConnection, {
        params: { connection_id: id },
      });
      await cli.output.resource(body, connectionDetailColumns);
    },
  }),
  command("test", "Test a connection", {
    args: { "<connection>": "the connection's name or id" },
    calls: [vault.listConnections, vault.testConnection],
    output: resourceOf(vault.testConnection),
    completions: { connection: "connections" },
    examples: [
      ["Test a connection", "croft vault connection test Papers"],
      ["Print the result as JSON", "croft vault connection test Papers --json"],
    ],
    /** Requests a check of the storage. A failed check has its own exit code. */
    async run(cli, { connection }) {
      const { id } = pickConnection(await readConnections(cli), connection);
      const { body } = await cli.client.call(vault.testConnection, {
        params: { connection_id: id },
      });
      await cli.output.resource(body, connectionColumns);
      if (body.status === "offline")
        cli.finishWith(exitCodeOf(new CliError("provider_offline", "the storage is offline")));
      if (body.status === "reauth_required")
        cli.finishWith(exitCodeOf(new CliError("reauth_required", "the credentials are refused")));
    },
  }),
  command("edit", "Edit the name or credentials of a connection", {
    args: { "<connection>": "the connection's name or id" },
    flags: {
      "--name <name>": "another name",
      "--ask <key...>": "ask for a new value of this secret setting",
      "--credential-stdin <keys>": "read the new values of these from standard input, a line each",
    },
    calls: [vault.listConnections, vault.updateConnection],
    output: resourceOf(vault.updateConnection),
    completions: { connection: "connections" },
    examples: [
      ["Rename a connection", "croft vault connection edit Papers --name Archive"],
      [
        "Replace a credential",
        "croft vault connection edit Papers --credential-stdin password < password.txt",
      ],
    ],
    /** Renames a connection or replaces its credentials. The daemon tests new credentials before it stores them. */
    async run(cli, { connection, name, ask = [], credentialStdin }) {
      const keys = credentialStdin?.split(",") ?? [];
      const credentials = [...new Set([...ask, ...keys])];
      if (name === undefined && credentials.length === 0)
        throw usageError("there is nothing to change", "give --name, --ask or --credential-stdin");
      const { id } = pickConnection(await readConnections(cli), connection);
      const flag = `--credential-stdin ${credentialStdin}`;
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
    },
  }),
  command(
    "reconnect",
    "Renew the credentials of a connection",
    async () => (await import("./authorize.ts")).reconnectConnection,
  ),
  command(
    "authorize",
    "Print the URL where you authorize a provider",
    async () => (await import("./authorize.ts")).authorizeConnection,
  ),
  command("remove", "Remove a connection; its files stay", {
    aliases: ["rm"],
    args: { "<connection>": "the connection's name or id" },
    calls: [vault.listConnections, vault.deleteConnection],
    output: shape({ deleted: "boolean", id: "string", display_name: "string" }),
    destructive: true,
    completions: { connection: "connections" },
    examples: [
      ["Remove a connection", "croft vault connection remove Papers --yes"],
      ["Show the request only", "croft vault connection remove Papers --dry-run"],
    ],
    /** Deletes a connection with its credentials and cached bytes. The files in the storage stay. */
    async run(cli, { connection }) {
      const { id, display_name: name } = pickConnection(await readConnections(cli), connection);
      await cli.prompts.confirm(`Remove the connection ${name}? Its files stay in the storage.`);
      await cli.client.call(vault.deleteConnection, { params: { connection_id: id } });
      await cli.output.done(
        { deleted: true, id, display_name: name },
        `Removed the connection ${name}.`,
      );
    },
  }),
];
