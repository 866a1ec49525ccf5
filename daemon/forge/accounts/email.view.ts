import type { ForgeEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { WireEmail } from "../../contract/forge/accounts/admin-emails.ts";

/** A person's own address (forge behaviour, 7.3). */
export function toOwnEmailView(email: ForgeEmail, owner: Pick<ForgeUser, "name">): WireEmail {
  return {
    email: email.email,
    verified: email.isVerified,
    primary: email.isPrimary,
    user_id: email.userId,
    username: owner.name,
  };
}
