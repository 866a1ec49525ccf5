import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import {
  deleteVaultIdentity,
  findVaultIdentity,
  insertVaultIdentity,
  listVaultIdentities,
  type VaultIdentity,
} from "../../../storage/tables/vault/identities.ts";
import { deleteMachineTokensOf } from "../../../storage/tables/vault/machine-tokens.ts";
import {
  countActiveAdministrators,
  editVaultUser,
  findVaultUser,
  findVaultUserByEmail,
  findVaultUserByHandle,
  ownsFiles,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { handleName, newEmail } from "../../contract/vault/common.ts";
import { AppError } from "../../errors.ts";
import {
  linkedElsewhere,
  onlyWayToSignIn,
  toAccountName,
  toLabel,
} from "../../sign-in/identities.ts";
import type { Identity } from "../../sign-in/oidc-client.ts";
import { insertAccount } from "./registration.service.ts";

export type Identities = ReturnType<typeof createIdentities>;

export interface IdentitiesDeps {
  readonly db: Database;
  readonly newId: () => string;
  readonly settings: {
    readonly defaultQuotaBytes: number;
    readonly oidcCreateAccounts: boolean;
    readonly oidcVaultAdminGroup: string | undefined;
  };
}

/** Handles that are tried for a new account. */
const HANDLES_MAX = 20;

/**
 * The identities of an OpenID provider that accounts are linked to. An e-mail address alone links nothing: a provider may let
 * anybody choose one. An account is linked by its password, or by its signed-in owner, or is made for the identity.
 */
export function createIdentities({ db, newId, settings }: IdentitiesDeps) {
  const { oidcVaultAdminGroup: adminGroup, oidcCreateAccounts, defaultQuotaBytes } = settings;
  return {
    /** Returns the id of the account of an identity; makes one if the settings allow it. Undefined for an unknown person. */
    async findAccount(identity: Identity, address: string): Promise<AccountId | undefined> {
      const linked = await findVaultIdentity(db, identity);
      const id =
        linked?.userId ?? (oidcCreateAccounts ? await create(identity, address) : undefined);
      if (id !== undefined) await setRole(id, identity, address);
      return id;
    },

    /** Links an identity to an account. Idempotent. Throws `conflict` when it is linked to another account. */
    async link(userId: AccountId, identity: Identity, address: string): Promise<void> {
      try {
        await db.transaction(async (tx) => {
          const linked = await findVaultIdentity(tx, identity);
          if (linked !== undefined && linked.userId !== userId) throw linkedElsewhere();
          if (linked === undefined) await insert(tx, userId, identity, address);
        });
      } catch (error) {
        throw isConflict(error) ? linkedElsewhere() : error;
      }
    },

    list: (userId: AccountId): Promise<VaultIdentity[]> => listVaultIdentities(db, userId),

    /** Unlinks an identity. Throws `conflict` for the last one of an account without a password. */
    unlink: (
      userId: AccountId,
      key: Pick<Identity, "issuer" | "subject">,
      address: string,
    ): Promise<void> =>
      db.transaction(async (tx) => {
        const user = await findVaultUser(tx, userId);
        const isOnlyWay =
          user?.passwordHash === "" && (await listVaultIdentities(tx, userId)).length <= 1;
        if (isOnlyWay) throw onlyWayToSignIn();
        await deleteVaultIdentity(tx, { userId, ...key });
        await record(tx, "auth.identity_unlinked", userId, { address, issuer: key.issuer });
      }),
  };

  /** Makes an account for a person with a verified address that no account has. */
  async function create(identity: Identity, address: string): Promise<AccountId | undefined> {
    const email = newEmail.safeParse(identity.email);
    if (!email.success || (await findVaultUserByEmail(db, email.data)) !== undefined)
      return undefined;
    const handle = await findFreeHandle(db, identity);
    if (handle === undefined) return undefined;
    try {
      const user = await insertAccount(
        { db, newId, defaultQuotaBytes },
        { handle, email: email.data, passwordHash: "", role: "user", passwordMustChange: false },
        (tx, { id }) => insert(tx, id, identity, address),
      );
      return user.id;
    } catch (error) {
      // Another sign-in of the same person was faster.
      if (!isConflict(error) && !(error instanceof AppError && error.code === "conflict"))
        throw error;
      return (await findVaultIdentity(db, identity))?.userId;
    }
  }

  /**
   * Makes administrators of the members of the group, and users of others. An account with files stays a user, because
   * an administrator could not open them, and the last administrator stays one.
   */
  async function setRole(id: AccountId, { groups }: Identity, address: string): Promise<void> {
    if (adminGroup === undefined) return;
    const role = groups.includes(adminGroup) ? "admin" : "user";
    await db.transaction(async (tx) => {
      const user = await findVaultUser(tx, id);
      if (user === undefined || user.role === role || !(await mayBecome(tx, user, role))) return;
      await editVaultUser(tx, id, { role });
      if (role === "admin") await deleteMachineTokensOf(tx, id);
      await record(tx, "auth.role_changed", id, { address, role });
    });
  }
}

async function mayBecome(
  tx: Transaction,
  user: VaultUser,
  role: VaultUser["role"],
): Promise<boolean> {
  if (role === "admin") return !(await ownsFiles(tx, user.id));
  return !user.isActive || (await countActiveAdministrators(tx)) > 1;
}

async function insert(
  tx: Transaction,
  userId: AccountId,
  identity: Identity,
  address: string,
): Promise<void> {
  const { issuer, subject } = identity;
  const label = toLabel(identity);
  await insertVaultIdentity(tx, { issuer, subject, userId, label });
  await record(tx, "auth.identity_linked", userId, { address, issuer });
}

function record(
  tx: Transaction,
  eventType: string,
  userId: AccountId,
  { address, ...metadata }: { readonly address: string } & Readonly<Record<string, unknown>>,
): Promise<void> {
  return insertAudit(tx, { eventType, userId, actorId: userId, ipAddress: address, metadata });
}

/** Returns a free handle like the name of the person at the provider. */
async function findFreeHandle(db: Queries, identity: Identity): Promise<string | undefined> {
  const base = toAccountName(identity)
    .replace(/^[-0-9]+|-+$/g, "")
    .slice(0, 28);
  const handles = Array.from({ length: HANDLES_MAX }, (_, at) =>
    at === 0 ? base : `${base}-${at + 1}`,
  );
  for (const handle of handles)
    if (
      handleName.safeParse(handle).success &&
      (await findVaultUserByHandle(db, handle)) === undefined
    )
      return handle;
  return undefined;
}
