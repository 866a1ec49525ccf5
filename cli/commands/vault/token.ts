import type { z } from "zod";
import type { machineToken } from "../../../daemon/contract/vault/tokens.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { readPages } from "../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { toExpiry } from "../../support/flag-values.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your tokens for scripts", {
    aliases: ["ls"],
    calls: [vault.listTokens],
    output: listOf(vault.listTokens, "items"),
    examples: [
      ["List your tokens", "croft vault token list"],
      ["Print their names", "croft vault token list --jq '.[].name'"],
    ],
    /** Prints the caller's machine tokens, newest first. */
    async run(cli) {
      await cli.output.list(vaultPages(cli.client, vault.listTokens, {}), tokenColumns);
    },
  }),
  command("create", "Create a token for scripts", {
    args: { "<name>": "a name for the token" },
    flags: {
      "--scope <scope>": {
        help: "read allows GET only; write allows changes too",
        choices: ["read", "write"],
        required: true,
      },
      "--expires <when>":
        "90d, 2027-01-31, or 2027-01-31T12:00:00Z; without it, the token does not expire",
    },
    calls: [vault.createToken],
    output: resourceOf(vault.createToken, 201),
    examples: [
      ["Create a token that reads", "croft vault token create backup --scope read --expires 90d"],
      ["Print the token only", "croft vault token create sync --scope write --jq .token"],
    ],
    /** Creates a token and prints its secret, which the server shows only here. */
    async run(cli, { name, scope, expires }) {
      const { body } = await cli.client.call(vault.createToken, {
        body: {
          name,
          scope,
          ...(expires === undefined ? {} : { expires_at: toExpiry(expires, cli.clock()) }),
        },
      });
      await cli.output.resource(body, [
        { header: "token", cell: ({ token }) => token },
        ...tokenColumns.filter(({ header }) => header !== "last used"),
      ]);
    },
  }),
  command("revoke", "Revoke a token for scripts", {
    aliases: ["rm"],
    args: { "<token>": "the token's name or id" },
    calls: [vault.deleteToken, vault.listTokens],
    output: shape({ revoked: "boolean", id: "string", name: "string" }),
    destructive: true,
    examples: [
      ["Revoke a token", "croft vault token revoke backup --yes"],
      ["Show the request only", "croft vault token revoke backup --dry-run"],
    ],
    /** Revokes a token: programs that use it are refused with their next request. */
    async run(cli, { token }) {
      const { id, name } = await findToken(cli, token);
      await cli.prompts.confirm(`Revoke the token ${name}?`);
      await cli.client.call(vault.deleteToken, { params: { id } });
      await cli.output.done({ revoked: true, id, name }, `Revoked the token ${name}.`);
    },
  }),
];

const tokenColumns: readonly Column<z.output<typeof machineToken>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "scope", cell: ({ scope }) => scope },
  { header: "created", cell: ({ created_at: created }) => time(created) },
  { header: "expires", cell: ({ expires_at: expires }) => expires && time(expires) },
  { header: "last used", cell: ({ last_used_at: lastUsed }) => lastUsed && time(lastUsed) },
  { header: "id", cell: ({ id }) => id },
];

/** Finds a token by name or id. @throws CliError `not_found` */
async function findToken(cli: CliContext, token: string): Promise<z.output<typeof machineToken>> {
  const source = vaultPages(cli.client, vault.listTokens, {});
  for await (const { items } of readPages(source, { page: undefined, limit: undefined, all: true }))
    for (const each of items) if (each.name === token || each.id === token) return each;
  throw new CliError("not_found", `there is no token ${JSON.stringify(token)}`, {
    hint: '"croft vault token list" shows yours',
    service: "vault",
  });
}
