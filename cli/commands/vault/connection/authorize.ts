import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import { time } from "../../../output/cells.ts";
import { resourceOf } from "../../../output/spec.ts";
import {
  connectionColumns,
  pickConnection,
  readConnections,
  type WireConnection,
} from "../../../support/connection.ts";
import { readSecrets } from "./ask-settings.ts";
import { commandDetails } from "../../../tree/command.ts";

export const authorizeConnection = commandDetails({
  args: {
    "<provider>": "google_drive, onedrive, dropbox or another that is connected in a browser",
  },
  flags: {
    "--name <name>": "the name of the new connection",
    "--connection <connection>": "renew the credentials of this one instead",
  },
  calls: [vault.listConnections, vault.authorize],
  output: resourceOf(vault.authorize),
  examples: [
    [
      "Print the address where you allow access",
      "croft vault connection authorize google_drive --name Drive",
    ],
    [
      "Renew the access of a connection",
      "croft vault connection authorize dropbox --connection Papers",
    ],
  ],
  /** Prints the address of a provider's sign-in page and returns without waiting. The address works once. */
  async run(cli, { provider, name, connection }) {
    if (name !== undefined && connection !== undefined)
      throw usageError("--name and --connection exclude each other");
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
  },
});

export const reconnectConnection = commandDetails({
  args: { "<connection>": "the connection's name or id" },
  flags: {
    "--credential-stdin <keys>": "read these secret settings from standard input, a line each",
  },
  calls: [vault.listConnections, vault.listProviders, vault.authorize, vault.updateConnection],
  output: resourceOf(vault.updateConnection),
  completions: { connection: "connections" },
  examples: [
    [
      "Replace the password of a storage",
      "croft vault connection reconnect Papers --credential-stdin password < password.txt",
    ],
    [
      "Show the request only",
      "croft vault connection reconnect Papers --credential-stdin password --dry-run < password.txt",
    ],
  ],
  /** Replaces the credentials of a connection: with typed ones, or by another sign-in at the provider. */
  async run(cli, { connection: word, credentialStdin }) {
    const connection = pickConnection(await readConnections(cli), word);
    const { body } = await cli.client.call(vault.listProviders, { query: { per_page: 100 } });
    const provider = body.items.find(({ type }) => type === connection.provider);
    if (provider === undefined)
      throw new CliError("unsupported", `this server no longer supports ${connection.provider}`);
    if (provider.sign_in === "oauth") {
      const { type, title } = provider;
      const renewed = await signInAtProvider(cli, { provider: type, title, for: { connection } });
      return cli.output.resource(renewed, connectionColumns);
    }
    if (provider.settings.every(({ secret }) => !secret))
      throw usageError(
        `${provider.title} needs no credentials`,
        `"croft vault connection test ${word}" checks it`,
      );
    const credentials = await readSecrets(cli, provider, credentialStdin);
    const { body: renewed } = await cli.client.call(vault.updateConnection, {
      params: { connection_id: connection.id },
      body: { credentials },
    });
    await cli.output.resource(renewed, connectionColumns);
  },
});

/** The purpose of a sign-in at a provider's own page. */
interface ProviderSignIn {
  readonly provider: string;
  /** The provider's display name. */
  readonly title: string;
  /** The name of the new connection, or the connection whose credentials are renewed. */
  readonly for: { readonly name: string } | { readonly connection: WireConnection };
}

const pollMs = 2_000;

/**
 * Prints the address of the provider's page, opens it in a browser if possible, and waits for the sign-in to
 * complete. @throws CliError `challenge_required` without a person at a terminal, `not_finished` after a timeout
 */
export async function signInAtProvider(
  cli: CliContext,
  { provider, title, for: purpose }: ProviderSignIn,
): Promise<WireConnection> {
  const query =
    "name" in purpose ? { display_name: purpose.name } : { connection_id: purpose.connection.id };
  // The daemon would store the started sign-in, although the request is a GET.
  if (cli.flags.dryRun) throw new DryRun({ authorize: { provider, ...query } });
  if (!(await cli.prompts.canAsk()))
    throw new CliError("challenge_required", `${title} is connected in a browser`, {
      hint: `"croft vault connection authorize ${provider}" prints the address to open there`,
    });
  const before = await readConnections(cli);
  const { body } = await cli.client.call(vault.authorize, { params: { provider }, query });
  const { authorization_url: address, expires_at: expiresAt } = body;
  const isOpened = cli.system.openBrowser(address);
  cli.io.warn(
    `${isOpened ? "Your browser opens" : "Open"} this address, to sign in at ${title}:\n\n  ${address}\n`,
  );
  cli.io.draw(`Waiting for you at ${title}. Ctrl-C stops waiting.`);
  try {
    return await waitForChange(cli, Date.parse(expiresAt), (connection) =>
      "name" in purpose
        ? connection.provider === provider && !before.some(({ id }) => id === connection.id)
        : connection.id === purpose.connection.id && isRenewed(connection, purpose.connection),
    );
  } finally {
    cli.io.draw("");
  }
}

function isRenewed(now: WireConnection, before: WireConnection): boolean {
  return now.status === "connected" && now.last_checked_at !== before.last_checked_at;
}

async function waitForChange(
  cli: CliContext,
  expiresAt: number,
  matches: (connection: WireConnection) => boolean,
): Promise<WireConnection> {
  for (;;) {
    await cli.system.sleep(pollMs, cli.signal);
    const found = (await readConnections(cli)).find(matches);
    if (found !== undefined) return found;
    if (cli.clock() > expiresAt)
      throw new CliError("not_finished", "the sign-in was not completed in time", {
        hint: "begin again; the page in the browser showed the reason",
        service: "vault",
      });
  }
}
