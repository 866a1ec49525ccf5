import type { WireToken } from "../../daemon/contract/forge/accounts/tokens.ts";
import { toBasic } from "../client/authorize.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import type { NamedProfile } from "../profile/profiles.ts";

/** Flags of every command about tokens. */
export interface OwnerFlags {
  /** The owner of the tokens; the caller when absent. */
  readonly username?: string;
}

export const ownerFlags = {
  "--username <name>": "whose tokens (site administrators only)",
} as const;

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

/** A token of the forge in the credential store. */
export interface StoredToken {
  readonly token: string;
  /** Null for a token that no sign-in of this command line created. */
  readonly token_id: number | null;
  /** Whether the first start of a home created it, so that nothing else knows it. */
  readonly is_first?: boolean;
  readonly url?: string;
}

/** Returns the stored token of a profile. */
export async function findStoredToken(
  cli: CliContext,
  profile: NamedProfile,
): Promise<StoredToken | undefined> {
  const stored = (await cli.credentials.read(profile, "forge")) as Partial<StoredToken> | undefined;
  return typeof stored?.token === "string"
    ? { token_id: null, ...stored, token: stored.token }
    : undefined;
}

/**
 * Deletes a token at the daemon if a sign-in or the first start created it. A token that the user provided may be in use
 * elsewhere and stays.
 */
export async function revokeToken(
  cli: CliContext,
  profile: NamedProfile,
  stored: StoredToken,
): Promise<void> {
  if (stored.is_first === true) {
    const authorization = `token ${stored.token}`;
    await cli.client.call(forge.deleteCurrentToken, {}, { authorization });
    return;
  }
  if (stored.token_id === null || profile.forge === null) return;
  const { username } = profile.forge;
  await cli.client.call(
    forge.deleteToken,
    { params: { username, token: String(stored.token_id) } },
    { authorization: toBasic(username, stored.token) },
  );
}
