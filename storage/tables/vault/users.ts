// Rows of the vault's accounts, sessions, connections and items. Functions take `db` first, return camelCase records,
// and check no rules or permissions. Start here: every other row belongs to a user.
import type { Changes, Queries, Row, SqlValue, Transaction } from "../../engine/database.ts";
import { type AccountId, toAccountId } from "./ids.ts";

/** Where the web client opens a PDF file. */
export type PdfOpenMode = "in_app" | "new_tab";

/** An account of the vault. Times are epoch milliseconds. */
export interface VaultUser {
  readonly id: AccountId;
  /** With the owner's case; unique ignoring case. */
  readonly handle: string;
  /** In lower case; unique. */
  readonly email: string;
  /** PHC string; empty when no password is set. */
  readonly passwordHash: string;
  readonly role: "user" | "admin";
  readonly isActive: boolean;
  readonly passwordMustChange: boolean;
  /** Undefined until the user chooses. */
  readonly pdfOpenMode: PdfOpenMode | undefined;
  /** Where the user's new documents are stored: `internal`, or a type of provider. */
  readonly defaultStorageBackend: string;
  /** Access tokens with another value are revoked. */
  readonly tokenVersion: number;
  readonly totpEnabled: boolean;
  /** Sealed; present exactly while `totpEnabled`. */
  readonly totpSecret: string | undefined;
  /** The latest time step of an accepted code. */
  readonly totpLastStep: number;
  /** Sealed; the secret of a pending setup. */
  readonly totpPendingSecret: string | undefined;
  readonly totpPendingExpiresAt: number | undefined;
  readonly createdAt: number;
}

/** The members of a new account. */
export type NewVaultUser = Pick<
  VaultUser,
  "id" | "handle" | "email" | "passwordHash" | "role" | "passwordMustChange"
>;

/** Adds an active account. Throws `conflict` when the handle (ignoring case) or the e-mail address is taken. */
export async function insertVaultUser(tx: Transaction, user: NewVaultUser): Promise<VaultUser> {
  await tx.run(
    `INSERT INTO vault_users (id, handle, handle_key, email, password_hash, role, is_active, password_must_change,
       default_storage_backend, token_version, totp_enabled, totp_last_step, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, 1, ?, 'internal', 0, 0, 0, ?, ?)`,
    user.id,
    user.handle,
    toHandleKey(user.handle),
    user.email,
    user.passwordHash,
    user.role,
    Number(user.passwordMustChange),
    tx.now,
    tx.now,
  );
  return {
    ...user,
    isActive: true,
    pdfOpenMode: undefined,
    defaultStorageBackend: "internal",
    tokenVersion: 0,
    totpEnabled: false,
    totpSecret: undefined,
    totpLastStep: 0,
    totpPendingSecret: undefined,
    totpPendingExpiresAt: undefined,
    createdAt: tx.now,
  };
}

/** Returns the account of an id, active or not. */
export async function findVaultUser(db: Queries, id: string): Promise<VaultUser | undefined> {
  return toUser(await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE id = ?`, id));
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
  return row && { user: toKnownUser(row), isSessionLive: row["is_session_live"] === 1 };
}

/** Returns the account of an e-mail address in lower case, active or not. */
export async function findVaultUserByEmail(
  db: Queries,
  email: string,
): Promise<VaultUser | undefined> {
  return toUser(await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE email = ?`, email));
}

/** Returns the account of a handle, ignoring case, active or not. */
export async function findVaultUserByHandle(
  db: Queries,
  handle: string,
): Promise<VaultUser | undefined> {
  return toUser(
    await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE handle_key = ?`, toHandleKey(handle)),
  );
}

/** Returns whether an account has the handle (ignoring case) or the e-mail address. */
export async function isVaultNameTaken(
  db: Queries,
  handle: string,
  email: string,
): Promise<boolean> {
  const row = await db.get(
    "SELECT 1 AS taken FROM vault_users WHERE handle_key = ? OR email = ? LIMIT 1",
    toHandleKey(handle),
    email,
  );
  return row !== undefined;
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
): Promise<{ readonly users: VaultUser[]; readonly total: number }> {
  const { where, values } = toCondition(filter);
  const rows = await db.all(
    `SELECT ${COLUMNS} FROM vault_users ${where} ORDER BY created_at, id LIMIT ? OFFSET ?`,
    ...values,
    page.limit,
    page.offset,
  );
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM vault_users ${where}`,
    ...values,
  );
  return { users: rows.map(toKnownUser), total: Number(count?.total ?? 0) };
}

/** Stores a hash of the same password with other parameters, unless the password was changed since. */
export async function replacePasswordHash(
  tx: Transaction,
  id: AccountId,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  const sql = "UPDATE vault_users SET password_hash = ? WHERE id = ? AND password_hash = ?";
  return happened(await tx.run(sql, to, id, from));
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
  return happened(
    await tx.run(
      `UPDATE vault_users SET password_hash = ?, password_must_change = 0, token_version = token_version + 1, updated_at = ?
       WHERE id = ? AND password_hash = ? AND is_active = 1`,
      to,
      tx.now,
      id,
      from,
    ),
  );
}

/** Requires a new password at the next sign-in and revokes the access tokens issued before. */
export async function demandPasswordChange(tx: Transaction, id: string): Promise<boolean> {
  return happened(
    await tx.run(
      "UPDATE vault_users SET password_must_change = 1, token_version = token_version + 1, updated_at = ? WHERE id = ?",
      tx.now,
      id,
    ),
  );
}

/** Activates or deactivates an account and revokes the access tokens issued before. False when nothing changes. */
export async function setVaultUserActive(
  tx: Transaction,
  id: AccountId,
  isActive: boolean,
): Promise<boolean> {
  return happened(
    await tx.run(
      `UPDATE vault_users SET is_active = ?, token_version = token_version + 1, updated_at = ?
       WHERE id = ? AND is_active <> ?`,
      Number(isActive),
      tx.now,
      id,
      Number(isActive),
    ),
  );
}

/** Deletes an account with all of its rows except audit records. Returns false when it does not exist. */
export async function deleteVaultUser(tx: Transaction, id: string): Promise<boolean> {
  return happened(await tx.run("DELETE FROM vault_users WHERE id = ?", id));
}

/** Returns the number of accounts, active or not. */
export async function countVaultUsers(db: Queries): Promise<number> {
  const row = await db.get<{ total: number }>("SELECT count(*) AS total FROM vault_users");
  return Number(row?.total ?? 0);
}

/** Returns the number of administrators who can sign in. Call it in the transaction that removes one. */
export async function countActiveAdministrators(tx: Transaction): Promise<number> {
  const row = await tx.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_users WHERE role = 'admin' AND is_active = 1",
  );
  return Number(row?.total ?? 0);
}

/** Stores where the user wants PDF files opened. Returns false when the account does not exist. */
export async function setPdfOpenMode(db: Queries, id: string, mode: PdfOpenMode): Promise<boolean> {
  return happened(await db.run("UPDATE vault_users SET pdf_open_mode = ? WHERE id = ?", mode, id));
}

/** Stores where the user's new documents go. Returns false when the account does not exist. */
export async function setDefaultStorageBackend(
  db: Queries,
  id: AccountId,
  backend: string,
): Promise<boolean> {
  return happened(
    await db.run("UPDATE vault_users SET default_storage_backend = ? WHERE id = ?", backend, id),
  );
}

function toHandleKey(handle: string): string {
  return handle.toLowerCase();
}

const COLUMNS = `id, handle, email, password_hash, role, is_active, password_must_change, pdf_open_mode,
  default_storage_backend, token_version, totp_enabled, totp_secret, totp_last_step, totp_pending_secret,
  totp_pending_expires_at, created_at`;

/** Runs with every request, so the text is built once. */
const USER_IN_SESSION = `SELECT ${COLUMNS}, (SELECT CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END FROM vault_sessions
    WHERE vault_sessions.id = ? AND user_id = vault_users.id) AS is_session_live
  FROM vault_users WHERE id = ?`;

function toUser(row: Row | undefined): VaultUser | undefined {
  return row === undefined ? undefined : toKnownUser(row);
}

function toKnownUser(row: Row): VaultUser {
  return {
    id: toAccountId(row["id"]),
    handle: row["handle"] as string,
    email: row["email"] as string,
    passwordHash: row["password_hash"] as string,
    role: row["role"] as VaultUser["role"],
    isActive: row["is_active"] === 1,
    passwordMustChange: row["password_must_change"] === 1,
    pdfOpenMode: (row["pdf_open_mode"] ?? undefined) as PdfOpenMode | undefined,
    defaultStorageBackend: row["default_storage_backend"] as string,
    tokenVersion: row["token_version"] as number,
    totpEnabled: row["totp_enabled"] === 1,
    totpSecret: (row["totp_secret"] ?? undefined) as string | undefined,
    totpLastStep: row["totp_last_step"] as number,
    totpPendingSecret: (row["totp_pending_secret"] ?? undefined) as string | undefined,
    totpPendingExpiresAt: (row["totp_pending_expires_at"] ?? undefined) as number | undefined,
    createdAt: row["created_at"] as number,
  };
}

function toCondition(filter: VaultUserFilter): { where: string; values: SqlValue[] } {
  const parts: string[] = [];
  const values: SqlValue[] = [];
  if (filter.text !== undefined) {
    const pattern = `%${filter.text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
    parts.push("(handle_key LIKE ? ESCAPE '\\' OR email LIKE ? ESCAPE '\\')");
    values.push(pattern, pattern);
  }
  if (filter.role !== undefined) {
    parts.push("role = ?");
    values.push(filter.role);
  }
  if (filter.isActive !== undefined) {
    parts.push("is_active = ?");
    values.push(Number(filter.isActive));
  }
  return { where: parts.length === 0 ? "" : `WHERE ${parts.join(" AND ")}`, values };
}

function happened({ changes }: Changes): boolean {
  return changes > 0;
}
