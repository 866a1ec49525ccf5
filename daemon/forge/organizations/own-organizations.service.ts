import type { Database } from "../../../storage/engine/database.ts";
import {
  countOrganizationsOf,
  listOrganizationsOf,
} from "../../../storage/tables/forge/accounts/orgs.ts";
import { getOrganizationAccess } from "../../../storage/tables/forge/accounts/team-access.ts";
import { ADMIN_ACCESS, OWNER_ACCESS } from "../../../storage/tables/forge/accounts/teams.ts";
import { listUsers, type UserPage } from "../../../storage/tables/forge/accounts/user-lists.ts";
import {
  deleteUser,
  type ForgeUser,
  type ForgeUserChanges,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { KeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import { listRepositoryMakers } from "../../../storage/tables/forge/repositories/transfers.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import { findEmailFault } from "../accounts/names.ts";
import type { NewOrganization, Organizations } from "./organizations.service.ts";
import type { Avatars } from "../accounts/avatars.service.ts";
import { renameUser } from "../accounts/edit-user.ts";
import type { AccountDependents } from "../accounts/remove-user.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { GrantedOrganization } from "../opened.ts";
import { findPerson, findPersonOf, reopening, reopenOrganization } from "./organization-access.ts";

/** Changes of an organization. Undefined members stay unchanged. */
export type OrganizationEdit = Undefinable<
  Pick<
    ForgeUserChanges,
    | "fullName"
    | "email"
    | "description"
    | "website"
    | "location"
    | "visibility"
    | "repoAdminChangeTeamAccess"
  >
>;
type Undefinable<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** A user's permissions in an organization. */
export interface OrganizationPermissions {
  /** 0 none, 1 read, 2 write, 3 admin, 4 owner. */
  readonly access: number;
  readonly canCreateRepositories: boolean;
}

/** Organizations of which one user is a member. */
const ORGANIZATIONS_MAX = 1_000;

export interface OwnOrganizationsDeps {
  readonly db: Database;
  readonly cursors: KeysetCursors;
  readonly organizations: Organizations;
  readonly avatars: Pick<Avatars, "set" | "remove">;
  /** The repositories and packages of organizations. */
  readonly dependents: readonly AccountDependents[];
}

export type OwnOrganizations = ReturnType<typeof createOwnOrganizations>;

/** Organizations that users create and run. */
export function createOwnOrganizations(deps: OwnOrganizationsDeps) {
  const { db, cursors, organizations, avatars, dependents } = deps;
  return {
    /** Returns a page of the organizations that the caller may see by their visibility, by name, and their count. */
    async listVisible(window: PageWindow, caller: ForgeCaller | undefined): Promise<UserPage> {
      const isNarrow =
        caller === undefined || isPublicOnly(caller) || caller.user.isRestricted === true;
      const query = { kind: "organization", term: "", loginName: "", sort: "name" } as const;
      const visibility = isNarrow
        ? ({ visibility: "public" } as const)
        : { isNotPrivate: !caller.user.isAdmin };
      return listUsers(db, { ...query, descending: false, ...visibility }, toRows(window), cursors);
    },

    /**
     * Creates an organization that the caller owns. Throws as `Organizations.create` does, and `forbidden` for a
     * non-public one with a public-only token, and when the caller is a member of the maximum number of organizations.
     */
    async create(input: NewOrganization, caller: ForgeCaller): Promise<ForgeUser> {
      if (isPublicOnly(caller) && input.visibility !== "public")
        throw new AppError("forbidden", "token scope is limited to public orgs");
      if (!caller.user.isAdmin && !caller.user.allowCreateOrganization)
        throw new AppError("forbidden", "not allowed to create org");
      assertEmail(input.email);
      return organizations.create(caller.user.name, input, async (tx) => {
        if ((await countOrganizationsOf(tx, caller.user.id)) >= ORGANIZATIONS_MAX)
          throw new AppError(
            "forbidden",
            `you are a member of ${ORGANIZATIONS_MAX} organizations already`,
          );
      });
    },

    /** Throws `unprocessable` for a malformed e-mail address. */
    async edit(opened: GrantedOrganization, edit: OrganizationEdit): Promise<ForgeUser> {
      if (edit.email !== undefined) assertEmail(edit.email);
      return db.transaction(async (tx) => {
        const { organization } = await reopenOrganization(tx, opened);
        const changes = Object.fromEntries(
          Object.entries(edit).filter(([, value]) => value !== undefined),
        );
        const edited = await updateUser(tx, organization, { ...changes, updatedAt: tx.now });
        if (edited.visibility !== organization.visibility)
          await endUnreadable(tx, { ownerId: organization.id });
        return edited;
      });
    },

    /** Deletes an organization with its teams. Throws `unprocessable` while it owns repositories or packages. */
    async remove(opened: GrantedOrganization): Promise<void> {
      await db.transaction(async (tx) => {
        const { organization } = await reopenOrganization(tx, opened);
        for (const dependent of dependents) await dependent.assertNoneOwned(tx, organization);
        for (const dependent of dependents) await dependent.forget?.(tx, organization);
        await deleteUser(tx, organization);
      });
    },

    /** Renames an organization; the former name redirects. Throws `unprocessable` for an invalid or taken name. */
    async rename(opened: GrantedOrganization, newName: string): Promise<void> {
      await renameUser({ db, dependents, kind: "organization" }, reopening(opened), newName);
    },

    /** Sets the picture of an organization. Throws as `Avatars.set` does. */
    async setAvatar(opened: GrantedOrganization, image: string): Promise<void> {
      await avatars.set(reopening(opened), image);
    },

    /** Restores the drawn picture of an organization. */
    async removeAvatar(opened: GrantedOrganization): Promise<void> {
      await avatars.remove(reopening(opened));
    },

    /**
     * Returns a page of a user's organizations, by name, and their count. Omits memberships that are hidden from the
     * caller.
     */
    async listOf(
      username: string,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<{ readonly organizations: readonly ForgeUser[]; readonly total: number }> {
      const user = await findPerson(db, username, caller);
      const seesAll = caller.user.isAdmin || caller.user.id === user.id;
      return listOrganizationsOf(db, user.id, {
        ...toRows(window),
        isPublicOnly: isPublicOnly(caller),
        ...(seesAll ? {} : { shownTo: caller.user.id }),
      });
    },

    /** Throws `not_found` for a user who is hidden from the caller. */
    async getPermissions(
      opened: GrantedOrganization,
      username: string,
      caller: ForgeCaller,
    ): Promise<OrganizationPermissions> {
      const user = await findPersonOf(db, opened, username, caller);
      // Only the organization may see the teams of another user.
      if (user.id !== caller.user.id && !opened.isMember && !opened.isOwner) throw notFound();
      const { id } = opened.organization;
      const access = await getOrganizationAccess(db, id, user.id);
      const makers = await listRepositoryMakers(db, id);
      return { access, canCreateRepositories: makers.includes(user.id) };
    },
  };
}

/** Converts permissions to their wire form. */
export function toPermissionsView({ access, canCreateRepositories }: OrganizationPermissions) {
  return {
    is_owner: access >= OWNER_ACCESS,
    is_admin: access >= ADMIN_ACCESS,
    can_write: access > 1,
    can_read: access > 0,
    can_create_repository: canCreateRepositories,
  };
}

function assertEmail(email: string): void {
  const fault = email === "" ? undefined : findEmailFault(email);
  if (fault !== undefined) throw new AppError("unprocessable", fault);
}
