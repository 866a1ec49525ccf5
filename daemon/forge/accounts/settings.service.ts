import type { Database } from "../../../storage/engine/database.ts";
import {
  findUserById,
  type ForgeUser,
  type ForgeUserChanges,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "./scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";

/** Changes of the caller's own profile. Undefined members stay as they are. */
export type OwnSettingsEdit = {
  readonly [
    K in
      | "fullName"
      | "website"
      | "description"
      | "location"
      | "language"
      | "theme"
      | "diffViewStyle"
      | "keepEmailPrivate"
      | "keepActivityPrivate"
      | "emailNotifications"
  ]: ForgeUser[K] | undefined;
};

export type OwnSettings = ReturnType<typeof createOwnSettings>;

/** The caller's own profile and preferences. A public-only token gets `forbidden`. */
export function createOwnSettings({ db }: { readonly db: Database }) {
  return {
    get(caller: ForgeCaller): ForgeUser {
      assertNotPublicOnly(caller);
      return caller.user;
    },

    async edit(edit: OwnSettingsEdit, caller: ForgeCaller): Promise<ForgeUser> {
      assertNotPublicOnly(caller);
      const changes: ForgeUserChanges = Object.fromEntries(
        Object.entries(edit).filter(([, value]) => value !== undefined),
      );
      return db.transaction(async (tx) => {
        const current = await findUserById(tx, caller.user.id);
        if (current === undefined) throw notFound();
        return updateUser(tx, current, { ...changes, updatedAt: tx.now });
      });
    },
  };
}

/** Refuses a public-only token with `forbidden`: an account's settings are not public. */
export function assertNotPublicOnly(caller: ForgeCaller): void {
  if (isPublicOnly(caller))
    throw new AppError("forbidden", "this endpoint is not available for public-only tokens");
}
