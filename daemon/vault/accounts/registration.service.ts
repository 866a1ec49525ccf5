import type { z } from "zod";
import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { insertQuota } from "../../../storage/tables/vault/quotas.ts";
import {
  insertVaultUser,
  isVaultNameTaken,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { describeIssue } from "../../contract/issue-text.ts";
import * as shapes from "../../contract/vault/common.ts";
import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { VaultRole } from "../caller.ts";
import { assertNotBreached, assertStrong } from "./password-rules.ts";
import { toAccountId } from "../../../storage/tables/vault/ids.ts";

/** The handle, address and password of a new account, already normalized by the contract. */
export interface NewAccount {
  readonly handle: string;
  readonly email: string;
  readonly password: string;
}

export type Registration = ReturnType<typeof createRegistration>;

export interface RegistrationDeps {
  readonly db: Database;
  readonly newId: () => string;
  readonly hasher: PasswordHasher;
  readonly breaches: BreachLookup;
  readonly allowRegistration: boolean;
  readonly defaultQuotaBytes: number;
}

/** Creates accounts. */
export function createRegistration(deps: RegistrationDeps) {
  return {
    /**
     * Registers a regular user with an empty quota. Throws `forbidden` when the server
     * takes no registrations, `unprocessable` for a weak or breached password, `conflict` when e-mail or handle is taken.
     */
    async register(account: NewAccount, address?: string): Promise<VaultUser> {
      if (!deps.allowRegistration)
        throw new AppError("forbidden", "This server does not take registrations");
      assertStrong(account.password);
      await assertNotBreached(deps.breaches, account.password);
      if (await isVaultNameTaken(deps.db, account.handle, account.email)) throw nameTaken();
      return create(account, "user", address);
    },

    /**
     * Registers the recipient of an invitation, also where the server takes no registrations. `also` writes further rows in the
     * transaction. Throws as `register` does.
     */
    async registerInvited(
      account: NewAccount,
      also: (tx: Transaction, user: VaultUser) => Promise<void>,
      address?: string,
    ): Promise<VaultUser> {
      assertStrong(account.password);
      await assertNotBreached(deps.breaches, account.password);
      return create(account, "user", address, also);
    },

    /**
     * Creates the administrator of a new server. The caller has already validated the password by the rules of both
     * APIs. Normalizes address and password as a sign-in does. Throws `unprocessable` for values that no sign-in
     * accepts, and `conflict` when e-mail or handle is taken.
     */
    async createFirstAdministrator({ handle, email, password }: NewAccount): Promise<VaultUser> {
      const shaped = {
        email: toShape(shapes.newEmail, email),
        password: toShape(shapes.password, password),
      };
      return create({ handle, ...shaped }, "admin");
    },
  };

  async function create(
    account: NewAccount,
    role: VaultRole,
    address?: string,
    also?: (tx: Transaction, user: VaultUser) => Promise<void>,
  ): Promise<VaultUser> {
    const passwordHash = await deps.hasher.hash(account.password);
    return insertAccount(
      deps,
      { ...account, passwordHash, role, passwordMustChange: false },
      async (tx, user) => {
        await insertAudit(tx, {
          eventType: "auth.registered",
          userId: user.id,
          actorId: user.id,
          resourceId: user.id,
          ipAddress: address,
          metadata: { role },
        });
        await also?.(tx, user);
      },
    );
  }
}

/**
 * Inserts the user, the quota and the rows that `also` adds, in one transaction. Throws `conflict` when e-mail or
 * handle
 * is taken.
 */
export async function insertAccount(
  deps: Pick<RegistrationDeps, "db" | "newId" | "defaultQuotaBytes">,
  account: Pick<VaultUser, "handle" | "email" | "passwordHash" | "role" | "passwordMustChange">,
  also?: (tx: Transaction, user: VaultUser) => Promise<void>,
): Promise<VaultUser> {
  const { handle, email, passwordHash, role, passwordMustChange } = account;
  const id = toAccountId(deps.newId());
  try {
    return await deps.db.transaction(async (tx) => {
      const user = await insertVaultUser(tx, {
        id,
        handle,
        email,
        passwordHash,
        role,
        passwordMustChange,
      });
      await insertQuota(tx, id, deps.defaultQuotaBytes);
      await also?.(tx, user);
      return user;
    });
  } catch (error) {
    // A concurrent request took the name after the check.
    throw isConflict(error) && error.constraint?.startsWith("vault_users") ? nameTaken() : error;
  }
}

/** Normalizes a value as the contract does for requests. Throws `unprocessable` with the contract's text. */
function toShape(schema: z.ZodType<string>, value: string): string {
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new AppError("unprocessable", parsed.error.issues.map(({ message }) => message).join(". "));
}

function nameTaken(): AppError {
  return new AppError("conflict", "Email or handle already in use");
}
