import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  deleteForgeIdentity,
  findForgeIdentity,
  type ForgeIdentity,
  insertForgeIdentity,
  listForgeIdentities,
} from "../../../storage/tables/forge/accounts/identities.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import {
  linkedElsewhere,
  onlyWayToSignIn,
  toAccountName,
  toLabel,
} from "../../sign-in/identities.ts";
import type { Identity } from "../../sign-in/oidc-client.ts";
import { insertPerson } from "./insert-person.ts";
import { assertUsableName, findEmailFault } from "./names.ts";
import type { Users } from "./users.service.ts";

export type Identities = ReturnType<typeof createIdentities>;

export interface IdentitiesDeps {
  readonly db: Database;
  readonly users: Pick<Users, "edit">;
  readonly settings: {
    readonly oidcCreateAccounts: boolean;
    readonly oidcForgeAdminGroup: string | undefined;
  };
}

/** Names that are tried for a new account. */
const NAMES_MAX = 20;

/**
 * The identities of an OpenID provider that accounts are linked to. An e-mail address alone links nothing: a provider may let
 * anybody choose one. An account is linked by its password, or by its signed-in owner, or is made for the identity.
 */
export function createIdentities({ db, users, settings }: IdentitiesDeps) {
  const { oidcForgeAdminGroup: adminGroup, oidcCreateAccounts: createsAccounts } = settings;
  return {
    /** Returns the account of an identity; makes one if the settings allow it. Undefined for an unknown person. */
    async findAccount(identity: Identity): Promise<ForgeUser | undefined> {
      const linked = await findForgeIdentity(db, identity);
      const found = linked && (await findUserById(db, linked.userId));
      const user = found ?? (createsAccounts ? await create(identity) : undefined);
      return user && withRights(user, identity);
    },

    /** Links an identity to an account. Idempotent. Throws `conflict` when it is linked to another account. */
    async link(userId: UserId, identity: Identity): Promise<void> {
      try {
        await db.transaction(async (tx) => {
          const linked = await findForgeIdentity(tx, identity);
          if (linked !== undefined && linked.userId !== userId) throw linkedElsewhere();
          if (linked === undefined) await insert(tx, userId, identity);
        });
      } catch (error) {
        throw isConflict(error) ? linkedElsewhere() : error;
      }
    },

    list: (userId: UserId): Promise<ForgeIdentity[]> => listForgeIdentities(db, userId),

    /** Unlinks an identity. Throws `conflict` for the last one of an account without a password. */
    unlink: (userId: UserId, key: Pick<Identity, "issuer" | "subject">): Promise<void> =>
      db.transaction(async (tx) => {
        const user = await findUserById(tx, userId);
        const isOnlyWay =
          user?.passwordHash === "" && (await listForgeIdentities(tx, userId)).length <= 1;
        if (isOnlyWay) throw onlyWayToSignIn();
        await deleteForgeIdentity(tx, { userId, ...key });
      }),
  };

  /** Makes an account for a person with a verified address that no account has. */
  async function create(identity: Identity): Promise<ForgeUser | undefined> {
    const { email } = identity;
    if (email === undefined || findEmailFault(email) !== undefined) return undefined;
    try {
      return await db.transaction(async (tx) => {
        if ((await findEmail(tx, email)) !== undefined) return undefined;
        const username = await findFreeName(tx, identity);
        if (username === undefined) return undefined;
        const user = await insertPerson(tx, {
          username,
          email,
          fullName: identity.fullName.slice(0, 100),
          passwordHash: "",
          isAdmin: false,
          createdAt: tx.now,
        });
        await insert(tx, user.id, identity);
        return user;
      });
    } catch (error) {
      // Another sign-in of the same person was faster.
      if (!isConflict(error)) throw error;
      const linked = await findForgeIdentity(db, identity);
      return linked && findUserById(db, linked.userId);
    }
  }

  /** Makes administrators of the members of the group, and takes the right of others, except of the last administrator. */
  async function withRights(user: ForgeUser, { groups }: Identity): Promise<ForgeUser> {
    if (adminGroup === undefined || user.isAdmin === groups.includes(adminGroup)) return user;
    const changes = { isAdmin: !user.isAdmin };
    const { name, loginName } = user;
    const edit = { sourceId: undefined, loginName, email: undefined, password: undefined, changes };
    try {
      return await users.edit(name, edit);
    } catch (error) {
      if (error instanceof AppError && error.code === "invalid_argument") return user;
      throw error;
    }
  }
}

const insert = (tx: Transaction, userId: UserId, identity: Identity): Promise<void> =>
  insertForgeIdentity(tx, {
    issuer: identity.issuer,
    subject: identity.subject,
    userId,
    label: toLabel(identity),
  });

/** Returns a free name like that of the person at the provider. */
async function findFreeName(db: Queries, identity: Identity): Promise<string | undefined> {
  const base = toAccountName(identity)
    .replace(/^-+|-+$/g, "")
    .slice(0, 32);
  const names = Array.from({ length: NAMES_MAX }, (_, at) =>
    at === 0 ? base : `${base}-${at + 1}`,
  );
  for (const name of names)
    if (isUsable(name) && (await findUserByName(db, name)) === undefined) return name;
  return undefined;
}

function isUsable(name: string): boolean {
  try {
    assertUsableName(name);
    return name !== "";
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
