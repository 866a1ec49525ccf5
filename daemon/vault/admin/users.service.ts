// Administration of accounts and the audit trail. The gates of the routes admit administrators
// only; the rules here restrict the accounts that they may change. Start here, then audit.service.ts.
import type { Database } from "../../../storage/engine/database.ts";
import { findQuota, setQuotaLimit, type VaultQuota } from "../../../storage/tables/vault/quotas.ts";
import { retireFolders } from "../../../storage/tables/vault/local-folders.ts";
import { deleteMachineTokensOf } from "../../../storage/tables/vault/machine-tokens.ts";
import { endSessions } from "../../../storage/tables/vault/sessions.ts";
import {
  deleteVaultUser,
  demandPasswordChange,
  findVaultUser,
  findVaultUserByHandle,
  listVaultUsers,
  setVaultUserActive,
  type VaultUser,
  type VaultUserFilter,
} from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { InvitationLink, InvitationLinks } from "../accounts/invitation-links.ts";
import { insertAccount } from "../accounts/registration.service.ts";
import type { ResetMails } from "../accounts/reset-mails.ts";
import type { VaultCaller, VaultRole } from "../caller.ts";
import type { PageRequest } from "../page.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { assertDispensable, record } from "./account-rules.ts";
import { type AccountChanges, editAccount } from "./edit-account.ts";

/**
 * Collects the resources of a user's connections outside of the database. Returns a function that releases them;
 * call it
 * after the user's rows are deleted.
 */
export type ReleaseStorages = (userId: AccountId) => Promise<() => Promise<void>>;

export interface UserAdministrationDeps {
  readonly db: Database;
  readonly newId: () => string;
  readonly resetMails: ResetMails;
  readonly invitationLinks: InvitationLinks;
  readonly releaseStorages: ReleaseStorages;
  readonly defaultQuotaBytes: number;
}

/** A person to be invited. */
export interface InvitedAccount {
  readonly handle: string;
  readonly email: string;
  readonly role: VaultRole;
  readonly notify: boolean;
  readonly forgeCode: string | undefined;
}

/** An account without a password, with its link. */
export interface InvitedUser extends InvitationLink {
  readonly user: VaultUser;
  /** Whether the account was made. */
  readonly isNew: boolean;
}

/** Manages accounts. Every method with a user id throws `not_found` for an unknown user. */
export function createUserAdministration(deps: UserAdministrationDeps) {
  const { db } = deps;
  return {
    list: (
      filter: VaultUserFilter,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly users: readonly VaultUser[]; readonly total: number }> =>
      listVaultUsers(db, filter, { limit: perPage, offset: (page - 1) * perPage }),

    /** Creates an account without a password and mails a link to choose one. Throws `conflict`. */
    create: (
      caller: VaultCaller,
      account: { readonly handle: string; readonly email: string; readonly role: VaultRole },
    ): Promise<VaultUser> =>
      insertAccount(
        deps,
        // An empty hash matches no password, and its verification takes as long as any other.
        { ...account, passwordHash: "", passwordMustChange: true },
        async (tx, user) => {
          await deps.resetMails.request(tx, { email: user.email, reason: "created" });
          await record(tx, caller, "admin.user_created", user.id, { role: user.role });
        },
      ),

    /**
     * Creates an account without a password, and a link to choose one. An account with this handle and address that has
     * no password yet gets another link, so a call can be repeated. Throws `conflict` for a taken handle or address and
     * for an account that has a password.
     */
    async invite(caller: VaultCaller, invited: InvitedAccount): Promise<InvitedUser> {
      const { handle, email, role } = invited;
      const earlier = await findVaultUserByHandle(db, handle);
      if (earlier !== undefined) assertInvited(earlier, email);
      const user =
        earlier ??
        (await insertAccount(
          deps,
          { handle, email, role, passwordHash: "", passwordMustChange: true },
          (tx, { id }) => record(tx, caller, "admin.user_created", id, { role }),
        ));
      const link = await deps.invitationLinks.make(user, invited);
      return { user, isNew: earlier === undefined, ...link };
    },

    /** See `editAccount`. */
    edit: (caller: VaultCaller, userId: AccountId, changes: AccountChanges): Promise<VaultUser> =>
      editAccount(db, caller, userId, changes),

    /**
     * Activates or deactivates an account. Deactivation revokes the user's access tokens in all daemons at once,
     * and deletes the machine tokens.
     * Throws `conflict` for the caller's own account and for the last active administrator.
     */
    setActive: (caller: VaultCaller, userId: AccountId, isActive: boolean): Promise<VaultUser> =>
      db.transaction(async (tx) => {
        const user = await getUser(tx, userId);
        if (!isActive) await assertDispensable(tx, caller, user, "deactivate");
        if (!(await setVaultUserActive(tx, userId, isActive))) return user;
        // Sessions from before the deactivation must stay revoked.
        if (isActive) await endSessions(tx, userId);
        else await deleteMachineTokensOf(tx, userId);
        await record(tx, caller, "admin.user_status_changed", userId, { is_active: isActive });
        return { ...user, isActive };
      }),

    /** Requires a new password: revokes all sessions and mails a link. */
    resetPassword: (caller: VaultCaller, userId: AccountId): Promise<void> =>
      db.transaction(async (tx) => {
        const user = await getUser(tx, userId);
        await demandPasswordChange(tx, userId);
        const ended = await endSessions(tx, userId);
        await deps.resetMails.request(tx, { email: user.email, reason: "demanded" });
        await record(tx, caller, "admin.password_reset", userId, { sessions_revoked: ended });
      }),

    /**
     * Deletes a user with sessions, connections and cached bytes; the files of connected storages and the audit records
     * stay. Throws `conflict` for the caller's own account and for the last active administrator.
     */
    async remove(caller: VaultCaller, userId: AccountId): Promise<void> {
      const release = await deps.releaseStorages(userId);
      await db.transaction(async (tx) => {
        const user = await getUser(tx, userId);
        await assertDispensable(tx, caller, user, "delete");
        await retireFolders(tx, user.handle, userId);
        await deleteVaultUser(tx, userId);
        await record(tx, caller, "admin.user_deleted", userId, { handle: user.handle });
      });
      await release();
    },

    async viewQuota(userId: AccountId): Promise<VaultQuota> {
      await getUser(db, userId);
      return getQuota(db, userId);
    },

    setQuota: (caller: VaultCaller, userId: AccountId, limitBytes: number): Promise<VaultQuota> =>
      db.transaction(async (tx) => {
        await getUser(tx, userId);
        const before = await getQuota(tx, userId);
        await setQuotaLimit(tx, userId, limitBytes);
        await record(tx, caller, "admin.quota_changed", userId, {
          limit_bytes: limitBytes,
          previous_limit_bytes: before.limitBytes,
        });
        return { ...before, limitBytes };
      }),
  };
}

type Db = Parameters<typeof findVaultUser>[0];

/** Refuses to invite an account of another person, and one whose owner has chosen a password. */
function assertInvited(user: VaultUser, email: string): void {
  const handle = JSON.stringify(user.handle);
  if (user.email !== email)
    throw new AppError("conflict", `The handle ${handle} belongs to another account`);
  if (user.passwordHash !== "")
    throw new AppError("conflict", `The account ${handle} exists and has a password`);
}

/** Returns an account. Throws `not_found`. */
async function getUser(db: Db, userId: AccountId): Promise<VaultUser> {
  const user = await findVaultUser(db, userId);
  if (user === undefined) throw new AppError("not_found", "User not found");
  return user;
}

async function getQuota(db: Db, userId: AccountId): Promise<VaultQuota> {
  const quota = await findQuota(db, userId);
  if (quota === undefined) throw new AppError("not_found", "Quota not found");
  return quota;
}
