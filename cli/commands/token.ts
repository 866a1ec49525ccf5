import { toChoice } from "../support/flag-values.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { scopeWords } from "../../daemon/contract/forge/token-scopes.ts";
import { addOwnerFlags, findOwner, type OwnerFlags, tokenColumns } from "../support/token-owner.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your forge access tokens", () => listTokens, { aliases: ["ls"] }),
  verb("create", "Create a forge access token", () => createToken),
  verb("delete", "Delete a forge access token", () => deleteToken, { aliases: ["rm"] }),
];

export const listTokens = {
  operations: [forge.listTokens, forge.getCurrentUser],
  output: listOf(forge.listTokens),
  define(command, cli, run = runTokenList): void {
    addOwnerFlags(command).action((flags: OwnerFlags) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints access tokens, newest first. */
async function runTokenList(cli: CliContext, flags: OwnerFlags): Promise<void> {
  const { username, authorization } = await findOwner(cli, flags);
  const pages = forgePages(
    cli.client,
    forge.listTokens,
    { params: { username } },
    { authorization },
  );
  await cli.output.list(pages, tokenColumns);
}

export interface TokenCreateOptions extends OwnerFlags {
  readonly name: string;
  /** Such as `read:user`; `all` for everything. */
  readonly scope: readonly string[];
}

export const createToken = {
  operations: [forge.createToken, forge.getCurrentUser],
  output: resourceOf(forge.createToken, 201),
  define(command, cli, run = runTokenCreate): void {
    addOwnerFlags(command)
      .argument("<name>", "a name for the token")
      .requiredOption(
        "--scope <scope...>",
        "its permissions: all, or read:CATEGORY and write:CATEGORY",
      )
      .action((name: string, flags: Omit<TokenCreateOptions, "name">) =>
        run(cli, { name, ...flags }),
      );
  },
} satisfies CommandModule;

/** Creates an access token and prints its secret, which is never shown again. */
async function runTokenCreate(cli: CliContext, options: TokenCreateOptions): Promise<void> {
  const { name, scope } = options;
  const scopes = scope.flatMap((value) => value.split(",")).map((one) => one.trim());
  for (const word of scopes) if (word !== "") toChoice("--scope", scopeWords, word);
  const { username, authorization } = await findOwner(cli, options);
  const input = { params: { username }, body: { name, scopes } };
  const { body } = await cli.client.call(forge.createToken, input, { authorization });
  // The response has no times yet.
  await cli.output.resource(body, [
    { header: "token", cell: ({ sha1 }) => sha1 },
    ...tokenColumns.filter(({ header }) => !timeColumns.has(header)),
  ]);
}

const timeColumns: ReadonlySet<string> = new Set(["created", "last used"]);

export interface TokenDeleteOptions extends OwnerFlags {
  /** Id or name; a name of digits counts as an id. */
  readonly token: string;
}

export const deleteToken = {
  operations: [forge.deleteToken, forge.getCurrentUser],
  output: shape({ deleted: "boolean", username: "string", token: "string" }),
  destructive: true,
  define(command, cli, run = runTokenDelete): void {
    addOwnerFlags(command)
      .argument("<token>", "the token's id or name")
      .action((token: string, flags: OwnerFlags) => run(cli, { token, ...flags }));
  },
} satisfies CommandModule;

/** Deletes an access token; its users are signed out at once. */
async function runTokenDelete(cli: CliContext, options: TokenDeleteOptions): Promise<void> {
  const { token } = options;
  await cli.prompts.confirm(`Delete the token ${token}?`);
  const { username, authorization } = await findOwner(cli, options);
  await cli.client.call(forge.deleteToken, { params: { username, token } }, { authorization });
  await cli.output.done(
    { deleted: true, username, token },
    `Deleted the token ${token} of ${username}.`,
  );
}
