import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { addOwnerFlags, findOwner, type OwnerFlags, tokenColumns } from "./token-owner.ts";

export const operations = [forge.createToken, forge.getCurrentUser];
export const output = resourceOf(forge.createToken, 201);

/** What the command was given. */
export interface TokenCreateOptions extends OwnerFlags {
  readonly name: string;
  /** Such as `read:user`; `all` for everything. */
  readonly scope: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runTokenCreate): void {
  addOwnerFlags(command)
    .argument("<name>", "a name for the token")
    .requiredOption(
      "--scope <scope...>",
      "what it may do: all, or read:CATEGORY and write:CATEGORY",
    )
    .action((name: string, flags: Omit<TokenCreateOptions, "name">) =>
      run(cli, { name, ...flags }),
    );
}

/** Makes an access token and prints its secret, which nobody can see again. */
async function runTokenCreate(cli: CliContext, options: TokenCreateOptions): Promise<void> {
  const { name, scope } = options;
  const { username, authorization } = await findOwner(cli, options);
  const scopes = scope.flatMap((given) => given.split(",")).map((one) => one.trim());
  const input = { params: { username }, body: { name, scopes } };
  const { body } = await cli.client.call(forge.createToken, input, { authorization });
  // The answer's times are not filled in yet.
  await cli.output.resource(body, [
    { header: "token", cell: ({ sha1 }) => sha1 },
    ...tokenColumns.filter(({ header }) => !timeColumns.has(header)),
  ]);
}

const timeColumns: ReadonlySet<string> = new Set(["created", "last used"]);
