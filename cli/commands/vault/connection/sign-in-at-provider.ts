import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun } from "../../../errors.ts";
import { readConnections } from "../find-connection.ts";
import type { WireConnection } from "./connection-columns.ts";

/** What a sign-in at a provider's own page is for. */
export interface ProviderSignIn {
  readonly provider: string;
  /** What people call the provider. */
  readonly title: string;
  /** The name of the connection that will be made, or the connection whose credentials are renewed. */
  readonly for: { readonly name: string } | { readonly connection: WireConnection };
}

const pollMs = 2_000;

/**
 * Shows the address of the provider's page, opens it in a browser where there is one, and waits until the person has
 * signed in there. @throws CliError `challenge_required` when nobody is there to do it, `not_finished` when they did not
 */
export async function signInAtProvider(
  cli: CliContext,
  { provider, title, for: purpose }: ProviderSignIn,
): Promise<WireConnection> {
  const query =
    "name" in purpose ? { display_name: purpose.name } : { connection_id: purpose.connection.id };
  // The daemon would keep the begun sign-in, although it is a GET.
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
  isWanted: (connection: WireConnection) => boolean,
): Promise<WireConnection> {
  for (;;) {
    await cli.system.sleep(pollMs, cli.signal);
    const found = (await readConnections(cli)).find(isWanted);
    if (found !== undefined) return found;
    if (cli.clock() > expiresAt)
      throw new CliError("not_finished", "nobody has signed in there in time", {
        hint: "begin again; what the page in the browser said tells more",
        service: "vault",
      });
  }
}
