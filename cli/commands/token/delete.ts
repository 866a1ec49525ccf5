import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { addOwnerFlags, findOwner, type OwnerFlags } from "./token-owner.ts";

export const operations = [forge.deleteToken, forge.getCurrentUser];
export const output = shape({ deleted: "boolean", username: "string", token: "string" });
export const destructive = true;

/** What the command was given. */
export interface TokenDeleteOptions extends OwnerFlags {
  /** Id or name; a name of digits counts as an id. */
  readonly token: string;
}

export function define(command: Command, cli: CliContext, run = runTokenDelete): void {
  addOwnerFlags(command)
    .argument("<token>", "the token's id or name")
    .action((token: string, flags: OwnerFlags) => run(cli, { token, ...flags }));
}

/** Deletes an access token: whoever uses it is signed out at once. */
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
