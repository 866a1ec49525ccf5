import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";

/**
 * Whether a viewer may know of an account by its visibility alone: strangers of public ones, people who are signed in
 * of limited ones too. Private ones are known to themselves and to administrators; members are another question.
 */
export function isVisibleTo(account: ForgeUser, viewer: ForgeUser | undefined): boolean {
  if (account.visibility === "public") return true;
  if (viewer === undefined) return false;
  return account.visibility === "limited" || viewer.isAdmin || viewer.id === account.id;
}
