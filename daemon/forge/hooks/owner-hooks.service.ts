import type { Database, Queries } from "../../../storage/engine/database.ts";
import type { HookPlace } from "../../../storage/tables/forge/hooks/hooks.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { openAsOwner } from "../organizations/organization-access.ts";

/** Access to the hooks of organizations and users. */
export type OwnerHooks = ReturnType<typeof createOwnerHooks>;

export function createOwnerHooks({ db }: { readonly db: Database }) {
  return {
    /**
     * Returns the home of an organization's hooks. Throws `not_found` for a hidden organization, `forbidden` for a caller who
     * does not own it.
     * @param queries the transaction of a change
     */
    async ofOrganization(
      { org }: { readonly org: string },
      caller: ForgeCaller,
      queries: Queries = db,
    ): Promise<HookPlace> {
      const { organization } = await openAsOwner(queries, org, caller, "/hooks");
      return { kind: "owner", id: organization.id };
    },

    /** Returns the home of the caller's own hooks. Throws `forbidden` for a public-only token. */
    ofUser(caller: ForgeCaller): HookPlace {
      if (isPublicOnly(caller))
        throw new AppError("forbidden", "token scope is limited to public users");
      return { kind: "owner", id: caller.user.id };
    },
  };
}
