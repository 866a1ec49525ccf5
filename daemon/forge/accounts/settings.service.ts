import type { Database } from "../../../storage/engine/database.ts";
import {
  type Contributions,
  listContributions,
} from "../../../storage/tables/forge/accounts/contributions.ts";
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
import { getVisibleAccount } from "../repositories/repository-lists.service.ts";

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

/** The caller's own profile and preferences. A token for public things only gets `forbidden`. */
export interface OwnSettings {
  get(caller: ForgeCaller): ForgeUser;
  edit(edit: OwnSettingsEdit, caller: ForgeCaller): Promise<ForgeUser>;
  /**
   * Returns what an account contributed in the last year, as far as the caller may read it: nothing of an account that
   * hides its activity from the caller. Throws `not_found` for an account that is hidden.
   */
  getHeatmap(name: string, caller: ForgeCaller | undefined): Promise<readonly Contributions[]>;
}

/** A year, and the week in which it began. */
const HEATMAP_MS = (366 + 7) * 86_400_000;

export function createOwnSettings({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}): OwnSettings {
  return {
    get(caller) {
      assertNotPublicOnly(caller);
      return caller.user;
    },

    async edit(edit, caller) {
      assertNotPublicOnly(caller);
      const changes: ForgeUserChanges = Object.fromEntries(
        Object.entries(edit).filter(([, value]) => value !== undefined),
      );
      return db.transaction(async (tx) => {
        const today = await findUserById(tx, caller.user.id);
        if (today === undefined) throw notFound();
        return updateUser(tx, today, { ...changes, updatedAt: tx.now });
      });
    },

    async getHeatmap(name, caller) {
      const account = await getVisibleAccount(db, name, caller);
      const viewer = caller?.user;
      const seesAll = viewer !== undefined && (viewer.isAdmin || viewer.id === account.id);
      if (account.keepActivityPrivate && !seesAll) return [];
      return listContributions(db, account.id, {
        reader: viewer,
        isPublicOnly: isPublicOnly(caller),
        since: clock() - HEATMAP_MS,
      });
    },
  };
}

/** Refuses a token for public things only with `forbidden`: an account's settings are not public. */
export function assertNotPublicOnly(caller: ForgeCaller): void {
  if (isPublicOnly(caller))
    throw new AppError("forbidden", "this endpoint is not available for public-only tokens");
}
