import type { Queries, Row, Transaction } from "../../engine/database.ts";
import { type AccountId, toAccountId } from "./ids.ts";

/** The scope of a machine token: requests that only read, or all requests that machine tokens may send. */
export type MachineTokenScope = "read" | "write";

/** A token for scripts; of its secret only the hash is stored. Times are epoch milliseconds. */
export interface MachineToken {
  readonly id: string;
  readonly userId: AccountId;
  /** Unique among the tokens of its user. */
  readonly name: string;
  readonly scope: MachineTokenScope;
  readonly createdAt: number;
  /** Undefined for a token that does not expire. */
  readonly expiresAt: number | undefined;
  /** Undefined until the first use. */
  readonly lastUsedAt: number | undefined;
}

/** Adds a token. Throws `conflict` when its user has one of that name. */
export async function insertMachineToken(
  tx: Transaction,
  token: Pick<MachineToken, "id" | "userId" | "name" | "scope" | "expiresAt">,
  tokenHash: string,
): Promise<MachineToken> {
  await tx.run(
    `INSERT INTO vault_machine_tokens (id, user_id, name, scope, token_hash, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    token.id,
    token.userId,
    token.name,
    token.scope,
    tokenHash,
    tx.now,
    token.expiresAt ?? null,
  );
  return { ...token, createdAt: tx.now, lastUsedAt: undefined };
}

/** Returns the token of a hash, expired or not. */
export async function findMachineToken(
  db: Queries,
  tokenHash: string,
): Promise<MachineToken | undefined> {
  const row = await db.get(
    `SELECT ${COLUMNS} FROM vault_machine_tokens WHERE token_hash = ?`,
    tokenHash,
  );
  return row && toToken(row);
}

/** Returns one page of a user's tokens, newest first, and how many the user has. */
export async function listMachineTokens(
  db: Queries,
  userId: AccountId,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly tokens: MachineToken[]; readonly total: number }> {
  const rows = await db.all(
    `SELECT ${COLUMNS} FROM vault_machine_tokens WHERE user_id = ?
     ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
    userId,
    page.limit,
    page.offset,
  );
  return { tokens: rows.map(toToken), total: await countMachineTokens(db, userId) };
}

/** Returns the number of tokens of a user, expired ones included. */
export async function countMachineTokens(db: Queries, userId: AccountId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_machine_tokens WHERE user_id = ?",
    userId,
  );
  return Number(row?.total ?? 0);
}

/** Deletes one token of a user and returns it; undefined when the user has no token with this id. */
export async function deleteMachineToken(
  tx: Transaction,
  userId: AccountId,
  id: string,
): Promise<MachineToken | undefined> {
  const row = await tx.get(
    `SELECT ${COLUMNS} FROM vault_machine_tokens WHERE id = ? AND user_id = ?`,
    id,
    userId,
  );
  if (row === undefined) return undefined;
  await tx.run("DELETE FROM vault_machine_tokens WHERE id = ?", id);
  return toToken(row);
}

/** Deletes all tokens of a user and returns how many there were. */
export async function deleteMachineTokensOf(tx: Transaction, userId: AccountId): Promise<number> {
  const { changes } = await tx.run("DELETE FROM vault_machine_tokens WHERE user_id = ?", userId);
  return changes;
}

/** Records a use, unless one was recorded after `before`. */
export async function recordMachineTokenUse(
  db: Queries,
  id: string,
  { now, before }: { readonly now: number; readonly before: number },
): Promise<void> {
  await db.run(
    "UPDATE vault_machine_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
    now,
    id,
    before,
  );
}

const COLUMNS = "id, user_id, name, scope, created_at, expires_at, last_used_at";

function toToken(row: Row): MachineToken {
  return {
    id: row["id"] as string,
    userId: toAccountId(row["user_id"]),
    name: row["name"] as string,
    scope: row["scope"] as MachineTokenScope,
    createdAt: Number(row["created_at"]),
    expiresAt: toOptionalNumber(row["expires_at"]),
    lastUsedAt: toOptionalNumber(row["last_used_at"]),
  };
}

function toOptionalNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
