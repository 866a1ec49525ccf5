import type { Command } from "commander";
import type { WireToken } from "../../daemon/contract/forge/accounts/tokens.ts";
import { toBasic } from "../client/authorize.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";

/** Flags of every command about tokens. */
export interface OwnerFlags {
  /** The owner of the tokens; the caller when absent. */
  readonly username?: string;
}

export function addOwnerFlags(command: Command): Command {
  return command.option("--username <name>", "whose tokens (site administrators only)");
}

/** The owner of the tokens, and the header that the token routes require: Basic, with the caller's own token as password. */
export async function findOwner(
  cli: CliContext,
  { username }: OwnerFlags,
): Promise<{ readonly username: string; readonly authorization: string }> {
  const { header } = await cli.client.authorizer.authorization("forge");
  const token = header.replace(/^token /, "");
  const me = await findOwnName(cli);
  return { username: username ?? me, authorization: toBasic(me, token) };
}

/** Returns the user name of the credentials: from the profile, or from the forge for a token of the environment. */
async function findOwnName(cli: CliContext): Promise<string> {
  const { forgeToken, tokenCommand } = await cli.config();
  const profile = await cli.profiles.inUse();
  if (profile.forge !== null && forgeToken === undefined && tokenCommand === undefined)
    return profile.forge.username;
  const { body } = await cli.client.call(forge.getCurrentUser);
  if (typeof body?.username !== "string")
    throw new CliError("unexpected_answer", "the forge does not report the signed-in user");
  return body.username;
}

/** An access token in a table. Only the command that creates it shows its secret. */
export const tokenColumns: readonly Column<WireToken>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "ends in", cell: ({ token_last_eight: lastEight }) => lastEight },
  { header: "scopes", cell: ({ scopes }) => scopes },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "last used", cell: ({ last_used_at: lastUsedAt }) => time(lastUsedAt) },
];
