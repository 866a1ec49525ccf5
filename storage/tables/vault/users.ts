// Rows of the vault's accounts, sessions, connections and items. Functions take `db` first, return camelCase records,
// and check no rules or permissions. Start here: every other row belongs to a user.
import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";
import { flag, integer, now, optional, text, textId, unread, initial } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql, all, type Condition } from "../condition.ts";

/** Where the web client opens a PDF file. */
export type PdfOpenMode = "in_app" | "new_tab";

export const users = defineTable("vault_users", {
  id: textId<AccountId>(),
  /** With the owner's case; unique ignoring case. */
  handle: text(),
  /** In lower case; unique. */
  email: text(),
  /** PHC string; empty when no password is set. */
  passwordHash: text(),
  role: text<"user" | "admin">(),
  isActive: initial(true, flag()),
  passwordMustChange: flag(),
  /** Undefined until the user chooses. */
  pdfOpenMode: optional(text<PdfOpenMode>()),
  /** Where the user's new documents are stored: `internal`, or a type of provider. */
  defaultStorageBackend: initial("internal", text()),
  /** Access tokens with another value are revoked. */
  tokenVersion: initial(0, integer()),
  totpEnabled: initial(false, flag()),
  /** Sealed; present exactly while `totpEnabled`. */
  totpSecret: optional(text()),
  /** The latest time step of an accepted code. */
  totpLastStep: initial(0, integer()),
  /** Sealed; the secret of a pending setup. */
  totpPendingSecret: optional(text()),
  totpPendingExpiresAt: optional(integer()),
  createdAt: now(),
  handleKey: unread(text()),
  updatedAt: unread(now()),
});
/** An account of the vault. Times are epoch milliseconds. */
export type VaultUser = RecordOf<typeof users>;

/** The members of a new account. */
export type NewVaultUser = Pick<
  VaultUser,
  "id" | "handle" | "email" | "passwordHash" | "role" | "passwordMustChange"
>;

/** Adds an active account. Throws `conflict` when the handle (ignoring case) or the e-mail address is taken. */
export async function insertVaultUser(tx: Transaction, user: NewVaultUser): Promise<VaultUser> {
  return users.insert(tx, { ...user, handleKey: toHandleKey(user.handle) });
}

/** Returns the account of an id, active or not. */
export async function findVaultUser(db: Queries, id: AccountId): Promise<VaultUser | undefined> {
  return users.find(db, { id });
}

/**
 * Returns the account of an id, and whether its session exists and has not ended. Runs with every request: one statement
 * with a subquery, because SQLite prepares a join with parameters again each time.
 */
export async function findVaultUserInSession(
  db: Queries,
  id: AccountId,
  sessionId: string,
): Promise<{ readonly user: VaultUser; readonly isSessionLive: boolean } | undefined> {
  const row = await db.get(USER_IN_SESSION, sessionId, id);
  return row && { user: users.read(row), isSessionLive: row["is_session_live"] === 1 };
}

/** Returns the account of an e-mail address in lower case, active or not. */
export async function findVaultUserByEmail(
  db: Queries,
  email: string,
): Promise<VaultUser | undefined> {
  return users.find(db, { email });
}

/** Returns the account of a handle, ignoring case, active or not. */
export async function findVaultUserByHandle(
  db: Queries,
  handle: string,
): Promise<VaultUser | undefined> {
  return users.find(db, { handleKey: toHandleKey(handle) });
}

/** Returns whether an account has the handle (ignoring case) or the e-mail address. */
export async function isVaultNameTaken(
  db: Queries,
  handle: string,
  email: string,
): Promise<boolean> {
  return users.exists(db, sql`handle_key = ${toHandleKey(handle)} OR email = ${email}`);
}

/** Conditions of a list of accounts; an absent one matches every account. */
export interface VaultUserFilter {
  /** Part of the handle or e-mail address, ignoring case. */
  readonly text?: string | undefined;
  readonly role?: "user" | "admin" | undefined;
  readonly isActive?: boolean | undefined;
}

/** Returns one page of accounts, oldest first, and the total count. */
export async function listVaultUsers(
  db: Queries,
  filter: VaultUserFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly users: readonly VaultUser[]; readonly total: number }> {
  const listing = { ...page, order: "created_at, id" };
  const { records, total } = await users.page(db, toCondition(filter), listing);
  return { users: records, total };
}

/** Stores a hash of the same password with other parameters, unless the password was changed since. */
export async function replacePasswordHash(
  tx: Transaction,
  id: AccountId,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  return (await users.update(tx, { id, passwordHash: from }, { passwordHash: to })) > 0;
}

/**
 * Sets a new password and revokes the access tokens issued before. Returns false and changes nothing if the current
 * hash is not `from` or the account is not active.
 */
export async function changePassword(
  tx: Transaction,
  id: AccountId,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  return (
    (await users.update(
      tx,
      { id, passwordHash: from, isActive: true },
      {
        passwordHash: to,
        passwordMustChange: false,
        tokenVersion: sql`token_version + 1`,
        updatedAt: tx.now,
      },
    )) > 0
  );
}

/** Requires a new password at the next sign-in and revokes the access tokens issued before. */
export async function demandPasswordChange(tx: Transaction, id: AccountId): Promise<boolean> {
  return (
    (await users.update(
      tx,
      { id },
      { passwordMustChange: true, tokenVersion: sql`token_version + 1`, updatedAt: tx.now },
    )) > 0
  );
}

/** Activates or deactivates an account and revokes the access tokens issued before. False when nothing changes. */
export async function setVaultUserActive(
  tx: Transaction,
  id: AccountId,
  isActive: boolean,
): Promise<boolean> {
  return (
    (await users.update(tx, sql`id = ${id} AND is_active <> ${Number(isActive)}`, {
      isActive,
      tokenVersion: sql`token_version + 1`,
      updatedAt: tx.now,
    })) > 0
  );
}

/** Changes handle, address or role of an account, and revokes the access tokens issued before. Throws `conflict` as `insertVaultUser`. */
export async function editVaultUser(
  tx: Transaction,
  id: AccountId,
  changes: Partial<Pick<VaultUser, "handle" | "email" | "role">>,
): Promise<void> {
  const { handle } = changes;
  await users.update(
    tx,
    { id },
    {
      ...changes,
      ...(handle === undefined ? {} : { handleKey: toHandleKey(handle) }),
      tokenVersion: sql`token_version + 1`,
      updatedAt: tx.now,
    },
  );
}

/** Returns whether an account has documents, in the trash too, or connected storage. */
export async function ownsFiles(db: Queries, id: AccountId): Promise<boolean> {
  const row = await db.get(
    `SELECT id FROM vault_users WHERE id = ? AND (
       EXISTS (SELECT 1 FROM vault_documents d WHERE d.user_id = vault_users.id)
       OR EXISTS (SELECT 1 FROM vault_connections c WHERE c.user_id = vault_users.id))`,
    id,
  );
  return row !== undefined;
}

/** Deletes an account with all of its rows except audit records. Returns false when it does not exist. */
export async function deleteVaultUser(tx: Transaction, id: AccountId): Promise<boolean> {
  return (await users.delete(tx, { id })) > 0;
}

/** Returns the number of accounts, active or not. */
export async function countVaultUsers(db: Queries): Promise<number> {
  return users.count(db, {});
}

/** Returns the number of administrators who can sign in. Call it in the transaction that removes one. */
export async function countActiveAdministrators(tx: Transaction): Promise<number> {
  return users.count(tx, { role: "admin", isActive: true });
}

/** Stores where the user wants PDF files opened. Returns false when the account does not exist. */
export async function setPdfOpenMode(
  db: Queries,
  id: AccountId,
  mode: PdfOpenMode,
): Promise<boolean> {
  return (await users.update(db, { id }, { pdfOpenMode: mode })) > 0;
}

/** Stores where the user's new documents go. Returns false when the account does not exist. */
export async function setDefaultStorageBackend(
  db: Queries,
  id: AccountId,
  backend: string,
): Promise<boolean> {
  return (await users.update(db, { id }, { defaultStorageBackend: backend })) > 0;
}

function toHandleKey(handle: string): string {
  return handle.toLowerCase();
}

/** Runs with every request, so the text is built once. */
const USER_IN_SESSION = `SELECT ${users.columns}, (SELECT CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END FROM vault_sessions
    WHERE vault_sessions.id = ? AND user_id = vault_users.id) AS is_session_live
  FROM vault_users WHERE id = ?`;

function toCondition({ text: part, role, isActive }: VaultUserFilter): Condition {
  const conditions: Condition[] = [];
  if (part !== undefined) {
    const pattern = `%${part.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
    conditions.push(
      sql`(handle_key LIKE ${pattern} ESCAPE '\\' OR email LIKE ${pattern} ESCAPE '\\')`,
    );
  }
  if (role !== undefined) conditions.push(sql`role = ${role}`);
  if (isActive !== undefined) conditions.push(sql`is_active = ${isActive}`);
  return all(conditions);
}
