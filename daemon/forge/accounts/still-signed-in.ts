import type { Queries } from "../../../storage/engine/database.ts";
import { findTokenById } from "../../../storage/tables/forge/accounts/tokens.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeCaller } from "../caller.ts";

/**
 * On whose behalf a caller acts at this moment; undefined when what the caller signed in with does not hold any more: the
 * token is deleted, the password is another one, the account may not sign in, or may not impersonate. For answers that
 * go on for long.
 */
export async function findStillSignedIn(
  db: Queries,
  { actor, user, method, tokenId, scope }: ForgeCaller,
): Promise<ForgeUser | undefined> {
  const owner = await findUserById(db, actor.id);
  if (owner === undefined || !owner.isActive || owner.prohibitLogin || owner.mustChangePassword)
    return undefined;
  if (method === "basic_password") {
    if (owner.passwordHash !== actor.passwordHash) return undefined;
  } else {
    const token = tokenId === undefined ? undefined : await findTokenById(db, tokenId);
    if (token?.userId !== owner.id || token.scope !== scope) return undefined;
  }
  if (user.id === owner.id) return owner;
  return owner.isAdmin ? findUserById(db, user.id) : undefined;
}
