// storage/tables/vault: rows of the vault's accounts, sessions, connections and their items.
// May import: storage/engine. Functions take `db` first, return camelCase records, and know no rule and no permission.
// Start here: everything else hangs on a user.
import type { Changes, Queries, Row, SqlValue, Transaction } from "../../engine/database.ts";

/** Where a PDF file opens. */
export type PdfOpenMode = "in_app" | "new_tab";

/** An account of the vault. Times are epoch milliseconds. */
export interface VaultUser {
  readonly id: string;
  /** As its owner wrote it; unique when case is ignored. */
  readonly handle: string;
  /** In lower case; unique. */
  readonly email: string;
  /** PHC string; empty when no password fits. */
  readonly passwordHash: string;
  readonly role: "user" | "admin";
  readonly isActive: boolean;
  readonly passwordMustChange: boolean;
  /** Undefined until the user chooses. */
  readonly pdfOpenMode: PdfOpenMode | undefined;
  /** Access tokens that carry another value are not accepted. */
  readonly tokenVersion: number;
  readonly totpEnabled: boolean;
  /** Sealed; present exactly while `totpEnabled`. */
  readonly totpSecret: string | undefined;
  /** The newest time step that a code was accepted for. */
  readonly totpLastStep: number;
  /** Sealed; the secret of a setup under way. */
  readonly totpPendingSecret: string | undefined;
  readonly totpPendingExpiresAt: number | undefined;
  readonly createdAt: number;
}

/** What an account begins with. */
export type NewVaultUser = Pick<
  VaultUser,
  "id" | "handle" | "email" | "passwordHash" | "role" | "passwordMustChange"
>;

/** Adds an active account. Throws `conflict` when handle (in any case) or e-mail are taken. */
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
    tokenVersion: 0,
    totpEnabled: false,
    totpSecret: undefined,
    totpLastStep: 0,
    totpPendingSecret: undefined,
    totpPendingExpiresAt: undefined,
    createdAt: tx.now,
  };
}

/** The account of an id, active or not. */
export async function findVaultUser(db: Queries, id: string): Promise<VaultUser | undefined> {
  return toUser(await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE id = ?`, id));
}

/**
 * The account of an id, and whether it has that session and the session has not ended. Read with every request: one
 * statement, and a sub-select instead of a join, because SQLite prepares a join with parameters anew each time.
 */
export async function findVaultUserInSession(
  db: Queries,
  id: string,
  sessionId: string,
): Promise<{ readonly user: VaultUser; readonly isSessionLive: boolean } | undefined> {
  const row = await db.get(USER_IN_SESSION, sessionId, id);
  return row && { user: toKnownUser(row), isSessionLive: row["is_session_live"] === 1 };
}

/** The account of an e-mail address in lower case, active or not. */
export async function findVaultUserByEmail(
  db: Queries,
  email: string,
): Promise<VaultUser | undefined> {
  return toUser(await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE email = ?`, email));
}

/** The account of a handle in any case, active or not. */
export async function findVaultUserByHandle(
  db: Queries,
  handle: string,
): Promise<VaultUser | undefined> {
  return toUser(
    await db.get(`SELECT ${COLUMNS} FROM vault_users WHERE handle_key = ?`, toHandleKey(handle)),
  );
}

/** Whether handle (in any case) or e-mail belong to an account. */
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

/** Which accounts a list holds. */
export interface VaultUserFilter {
  /** Part of the handle or e-mail, in any case. */
  readonly text?: string | undefined;
  readonly role?: "user" | "admin" | undefined;
  readonly isActive?: boolean | undefined;
}

/** One page of accounts, oldest first, and how many match in all. */
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
  id: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  const sql = "UPDATE vault_users SET password_hash = ? WHERE id = ? AND password_hash = ?";
  return happened(await tx.run(sql, to, id, from));
}

/**
 * Sets another password and ends the access tokens issued before. False, changing nothing, when the password is
 * no longer the one that `from` is the hash of, or the account is not active.
 */
export async function changePassword(
  tx: Transaction,
  id: string,
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

/** Demands another password at the next sign-in and ends the access tokens issued before. */
export async function demandPasswordChange(tx: Transaction, id: string): Promise<boolean> {
  return happened(
    await tx.run(
      "UPDATE vault_users SET password_must_change = 1, token_version = token_version + 1, updated_at = ? WHERE id = ?",
      tx.now,
      id,
    ),
  );
}

/** Activates or deactivates, and ends the access tokens issued before. False when it already is so. */
export async function setVaultUserActive(
  tx: Transaction,
  id: string,
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

/** Deletes an account with all rows that are its own; audit records stay. False when there is none. */
export async function deleteVaultUser(tx: Transaction, id: string): Promise<boolean> {
  return happened(await tx.run("DELETE FROM vault_users WHERE id = ?", id));
}

/** How many accounts there are, active or not. */
export async function countVaultUsers(db: Queries): Promise<number> {
  const row = await db.get<{ total: number }>("SELECT count(*) AS total FROM vault_users");
  return Number(row?.total ?? 0);
}

/** How many administrators can sign in. Called in the transaction that would take one away. */
export async function countActiveAdministrators(tx: Transaction): Promise<number> {
  const row = await tx.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_users WHERE role = 'admin' AND is_active = 1",
  );
  return Number(row?.total ?? 0);
}

/** Keeps how the user wants PDF files opened. False when the account is gone. */
export async function setPdfOpenMode(db: Queries, id: string, mode: PdfOpenMode): Promise<boolean> {
  return happened(await db.run("UPDATE vault_users SET pdf_open_mode = ? WHERE id = ?", mode, id));
}

function toHandleKey(handle: string): string {
  return handle.toLowerCase();
}

const COLUMNS = `id, handle, email, password_hash, role, is_active, password_must_change, pdf_open_mode,
  token_version, totp_enabled, totp_secret, totp_last_step, totp_pending_secret, totp_pending_expires_at,
  created_at`;

/** Asked with every request, and so put together once. */
const USER_IN_SESSION = `SELECT ${COLUMNS}, (SELECT CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END FROM vault_sessions
    WHERE vault_sessions.id = ? AND user_id = vault_users.id) AS is_session_live
  FROM vault_users WHERE id = ?`;

function toUser(row: Row | undefined): VaultUser | undefined {
  return row === undefined ? undefined : toKnownUser(row);
}

function toKnownUser(row: Row): VaultUser {
  return {
    id: row["id"] as string,
    handle: row["handle"] as string,
    email: row["email"] as string,
    passwordHash: row["password_hash"] as string,
    role: row["role"] as VaultUser["role"],
    isActive: row["is_active"] === 1,
    passwordMustChange: row["password_must_change"] === 1,
    pdfOpenMode: (row["pdf_open_mode"] ?? undefined) as PdfOpenMode | undefined,
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
