import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import type { KeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import {
  insertOwnersTeam,
  listOrganizationsOf,
} from "../../../storage/tables/forge/accounts/orgs.ts";
import { deleteRedirect } from "../../../storage/tables/forge/accounts/redirects.ts";
import { listUsers, type UserPage } from "../../../storage/tables/forge/accounts/user-lists.ts";
import {
  findUserByName,
  type ForgeUser,
  insertUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgeVisibility } from "../../../storage/tables/forge/accounts/user-facets.ts";
import type { Emit } from "../events.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { nameTakenText, targetIsOrganization, userNotFound } from "../refusals.ts";
import { assertUsableName } from "../accounts/names.ts";
import { isPublicOnly } from "../accounts/scopes.ts";

/** An organization to be created. A text that the request omits is empty. */
export interface NewOrganization {
  readonly name: string;
  readonly fullName: string;
  /** Shown to others; receives no mail. */
  readonly email: string;
  readonly repoAdminChangeTeamAccess: boolean;
  readonly description: string;
  readonly website: string;
  readonly location: string;
  readonly visibility: ForgeVisibility;
}

export type Organizations = ReturnType<typeof createOrganizations>;

export interface OrganizationsDeps {
  readonly db: Database;
  /** Cached cursors of long lists. */
  readonly cursors: KeysetCursors;
  readonly random: (bytes: number) => Uint8Array;
  readonly emit: Emit;
}

const AVATAR_BYTES = 16;

/** The organizations of the forge. */
export function createOrganizations({ db, cursors, random, emit }: OrganizationsDeps) {
  return {
    /** Returns a page of all organizations by name, and their count. A public-only token gets the public ones. */
    list: (window: PageWindow, caller: ForgeCaller): Promise<UserPage> =>
      listUsers(
        db,
        {
          kind: "organization",
          visibility: isPublicOnly(caller) ? "public" : undefined,
          term: "",
          loginName: "",
          sort: "name",
          descending: false,
        },
        toRows(window),
        cursors,
      ),

    /** Returns a page of the organizations that the caller is a member of, by name, and the count of all. */
    listOwn: (
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly organizations: readonly ForgeUser[]; readonly total: number }> =>
      listOrganizationsOf(db, caller.user.id, {
        ...toRows(window),
        isPublicOnly: isPublicOnly(caller),
      }),

    /**
     * Creates an organization that a user owns. Throws `unprocessable` for an owner that is an
     * organization, an invalid name and a taken one, `forbidden` for a user who may not create organizations.
     * @param admit a further check in the transaction of the creation
     */
    async create(
      ownerName: string,
      input: NewOrganization,
      admit?: (tx: Transaction) => Promise<void>,
    ): Promise<ForgeUser> {
      const taken = () => new AppError("unprocessable", nameTakenText(input.name));
      const avatarHash = Buffer.from(random(AVATAR_BYTES)).toString("hex");
      try {
        return await db.transaction(async (tx) => {
          const owner = await findUserByName(tx, ownerName);
          if (owner === undefined) throw userNotFound(ownerName);
          if (owner.kind === "organization") throw targetIsOrganization();
          if (!owner.isAdmin && !owner.allowCreateOrganization)
            throw new AppError("forbidden", "user is not allowed to create organizations");
          await admit?.(tx);
          assertUsableName(input.name);
          if ((await findUserByName(tx, input.name)) !== undefined) throw taken();
          await deleteRedirect(tx, input.name);
          const organization = await insertUser(tx, toNewOrganization(input, avatarHash, tx.now));
          await insertOwnersTeam(tx, organization.id, owner.id);
          await emit(tx, "organization", { organization, actor: owner });
          return organization;
        });
      } catch (error) {
        throw isConflict(error) && error.constraint?.includes("lower_name") ? taken() : error;
      }
    },
  };
}

function toNewOrganization(
  input: NewOrganization,
  avatarHash: string,
  now: number,
): Parameters<typeof insertUser>[1] {
  return {
    ...input,
    kind: "organization",
    keepEmailPrivate: false,
    loginSource: 0,
    loginName: "",
    passwordHash: "",
    mustChangePassword: false,
    isActive: true,
    isAdmin: false,
    isRestricted: false,
    prohibitLogin: false,
    twoFactorEnabled: false,
    allowGitHook: false,
    allowImportLocal: false,
    allowCreateOrganization: false,
    maxRepoCreation: -1,
    language: "",
    avatarHash,
    createdAt: now,
    updatedAt: now,
  };
}
