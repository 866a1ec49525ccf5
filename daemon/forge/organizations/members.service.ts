import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteMembership,
  hasTeam,
  isMember,
  isOnlyOwner,
  isPublicMember,
  listMembers,
  updateMembership,
} from "../../../storage/tables/forge/accounts/orgs.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { endUnreadable } from "../../../storage/tables/forge/repositories/unreadable.ts";
import { AppError } from "../../errors.ts";
import { toReader } from "../accounts/scopes.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { GrantedOrganization } from "../opened.ts";
import { assertOwns, findPersonOf, reopenOrganization } from "./organization-access.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

export type Members = ReturnType<typeof createMembers>;

/** The members of organizations. */
export function createMembers({ db }: { readonly db: Database }) {
  return {
    /**
     * Returns a page of the members by name, and their count. A caller who is neither a member nor an owner gets only
     * visible accounts with a public membership.
     */
    async list(
      opened: GrantedOrganization,
      { isPublicOnly, ...window }: PageWindow & { readonly isPublicOnly: boolean },
      caller: ForgeCaller | undefined,
    ): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
      const seesAll = !isPublicOnly && (opened.isMember || opened.isOwner);
      return listMembers(db, opened.organization.id, {
        ...toRows(window),
        ...(seesAll ? {} : { shownTo: { reader: toReader(caller) } }),
      });
    },

    /** Throws `not_found` unless the user is a member. Only members and owners see a private membership. */
    async assertIsOne(
      opened: GrantedOrganization,
      member: string,
      caller: ForgeCaller | undefined,
      isPublicOnly: boolean,
    ): Promise<void> {
      const user = await findPersonOf(db, opened, member, caller);
      const seesAll = !isPublicOnly && (opened.isMember || opened.isOwner);
      const isFound = seesAll ? isMember : isPublicMember;
      if (!(await isFound(db, opened.organization.id, user.id))) throw notFound();
    },

    /**
     * Removes a user from the organization and its teams; idempotent. Throws `forbidden` unless the caller owns the
     * organization or is that user, `unprocessable` for the last owner.
     */
    async remove(opened: GrantedOrganization, member: string, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const current = await reopenOrganization(tx, opened);
        const user = await findPersonOf(tx, current, member, caller);
        if (!isSelf(caller.user, user.id)) assertOwns(current);
        await removeMember(tx, current.organization.id, user);
      });
    },

    /**
     * Shows or hides a membership. Throws `forbidden` for another user's unless the caller owns the organization,
     * `not_found` for a user who is not a member.
     */
    async setPublic(
      opened: GrantedOrganization,
      member: string,
      isPublic: boolean,
      caller: ForgeCaller,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const current = await reopenOrganization(tx, opened);
        const user = await findPersonOf(tx, current, member, caller);
        if (!isSelf(caller.user, user.id) && !current.isOwner)
          throw new AppError("forbidden", "Cannot change member visibility");
        const { id } = current.organization;
        if (!(await isMember(tx, id, user.id))) throw notFound();
        await updateMembership(tx, id, user.id, isPublic);
      });
    },
  };
}

/** Throws `unprocessable` for the only owner of an organization. */
export async function assertNotLastOwner(
  tx: Transaction,
  orgId: UserId,
  userId: UserId,
): Promise<void> {
  if (await isOnlyOwner(tx, orgId, userId))
    throw new AppError("unprocessable", `user is the last member of owner team [uid: ${userId}]`);
}

/**
 * Removes a user from an organization and its teams. The user stops watching its repositories that they can no longer
 * read, and is unassigned from their issues.
 */
async function removeMember(tx: Transaction, orgId: UserId, user: ForgeUser): Promise<void> {
  await assertNotLastOwner(tx, orgId, user.id);
  await deleteMembership(tx, orgId, user.id);
  await endUnreadable(tx, { ownerId: orgId, userId: user.id });
}

/** Completes the removal of a user from a team: without another team, the user is no longer a member. */
export async function endTeamMembership(
  tx: Transaction,
  orgId: UserId,
  user: ForgeUser,
): Promise<void> {
  if (!(await hasTeam(tx, orgId, user.id))) await deleteMembership(tx, orgId, user.id);
  await endUnreadable(tx, { ownerId: orgId, userId: user.id });
}
