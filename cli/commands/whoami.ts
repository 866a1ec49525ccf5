import { forge, vault } from "../client/operations.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { shape, toObjectSchema } from "../output/spec.ts";
import { commandDetails } from "../tree/command.ts";

const identity = (fields: Parameters<typeof toObjectSchema>[0]) => ({
  anyOf: [toObjectSchema(fields), { type: "null" }],
});

export const whoami = commandDetails({
  calls: [forge.getCurrentUser, vault.me],
  output: shape({
    profile: "string",
    url: "string",
    forge: identity({ username: "string", email: "string", is_admin: "boolean" }),
    vault: identity({ handle: "string", email: "string", role: "string" }),
  }),
  examples: [
    ["Show your accounts", "croft whoami"],
    ["Print your name at the forge", "croft whoami --jq .forge.login"],
  ],
  /**
   * Prints the signed-in accounts of both services, as the daemon sees them. @throws CliError `not_signed_in` when signed
   * in to neither
   */
  async run(cli) {
    const { url } = await cli.client.target();
    const { name } = await cli.profiles.inUse();
    const forgeUser = await unlessSignedOut(async () => {
      const { body } = await cli.client.call(forge.getCurrentUser);
      return { username: body.username, email: body.email, is_admin: body.is_admin };
    });
    const vaultAccount = await unlessSignedOut(async () => {
      const { body } = await cli.client.call(vault.me);
      return { handle: body.handle, email: body.email, role: body.role };
    });
    if (forgeUser === null && vaultAccount === null)
      throw new CliError("not_signed_in", `not signed in at ${url}`, {
        hint: '"croft login forge" and "croft login vault" sign in',
      });
    const identities = { profile: name, url, forge: forgeUser, vault: vaultAccount };
    await cli.output.resource<Identities>(identities, columns);
  },
});

interface Identities {
  readonly profile: string;
  readonly url: string;
  readonly forge: {
    readonly username: string;
    readonly email: string;
    readonly is_admin: boolean;
  } | null;
  readonly vault: { readonly handle: string; readonly email: string; readonly role: string } | null;
}

const columns: readonly Column<Identities>[] = [
  { header: "profile", cell: ({ profile }) => profile },
  { header: "url", cell: ({ url }) => url },
  { header: "forge", cell: ({ forge }) => forge?.username ?? "not signed in" },
  { header: "vault", cell: ({ vault }) => (vault === null ? "not signed in" : vault.handle) },
];

/** Null where the caller is not signed in; other failures are thrown. */
export async function unlessSignedOut<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CliError && signedOut.has(error.code)) return null;
    throw error;
  }
}

const signedOut: ReadonlySet<string> = new Set([
  "not_signed_in",
  "invalid_credentials",
  "session_revoked",
]);
