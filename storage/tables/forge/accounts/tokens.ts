import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, TokenId } from "../ids.ts";

/** An access token. Its secret is kept as a salted hash only. Times are epoch milliseconds. */
export interface ForgeToken {
  readonly id: TokenId;
  readonly userId: UserId;
  /** Unique among its owner's, exactly. */
  readonly name: string;
  readonly lastEight: string;
  readonly salt: string;
  /** Lower-case hex. */
  readonly hash: string;
  /** In normal form. */
  readonly scope: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
}

/** Adds a token. Throws `conflict` when its owner has one of that name. */
export async function insertToken(
  tx: Transaction,
  token: Omit<ForgeToken, "id">,
): Promise<ForgeToken> {
  const row = await tx.get<TokenRow>(
    `INSERT INTO forge_access_tokens (user_id, name, last_eight, salt, hash, scope, created_at, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${columns}`,
    token.userId,
    token.name,
    token.lastEight,
    token.salt,
    token.hash,
    token.scope,
    token.createdAt,
    token.lastUsedAt,
  );
  if (row === undefined) throw new Error("the statement for the token returned no row");
  return toToken(row);
}

/** A token whose secret ends in these eight characters. */
export async function findTokenByLastEight(
  db: Queries,
  lastEight: string,
): Promise<ForgeToken | undefined> {
  const row = await db.get<TokenRow>(
    `SELECT ${columns} FROM forge_access_tokens WHERE last_eight = ? ORDER BY id LIMIT 1`,
    lastEight,
  );
  return row && toToken(row);
}

/** The tokens whose secret may end in these eight characters. */
export async function listTokensByLastEight(db: Queries, lastEight: string): Promise<ForgeToken[]> {
  const rows = await db.all<TokenRow>(
    `SELECT ${columns} FROM forge_access_tokens WHERE last_eight = ?`,
    lastEight,
  );
  return rows.map(toToken);
}

export async function findTokenById(db: Queries, id: TokenId): Promise<ForgeToken | undefined> {
  const row = await db.get<TokenRow>(`SELECT ${columns} FROM forge_access_tokens WHERE id = ?`, id);
  return row && toToken(row);
}

/** A page of a person's tokens, newest first. */
export async function listTokensOfUser(
  db: Queries,
  userId: UserId,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeToken[]> {
  const rows = await db.all<TokenRow>(
    `SELECT ${columns} FROM forge_access_tokens WHERE user_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`,
    userId,
    window.limit,
    window.offset,
  );
  return rows.map(toToken);
}

export async function countTokensOfUser(db: Queries, userId: UserId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_access_tokens WHERE user_id = ?",
    userId,
  );
  return row?.total ?? 0;
}

export async function findTokenByName(
  db: Queries,
  userId: UserId,
  name: string,
): Promise<ForgeToken | undefined> {
  const row = await db.get<TokenRow>(
    `SELECT ${columns} FROM forge_access_tokens WHERE user_id = ? AND name = ?`,
    userId,
    name,
  );
  return row && toToken(row);
}

/** Deletes a token of a user; returns false when the user has no token with this id. */
export async function deleteToken(db: Queries, userId: UserId, id: TokenId): Promise<boolean> {
  const { changes } = await db.run(
    "DELETE FROM forge_access_tokens WHERE id = ? AND user_id = ?",
    id,
    userId,
  );
  return changes > 0;
}

/** Notes a use of the token. */
export async function touchToken(db: Queries, id: TokenId, at: number): Promise<void> {
  await db.run("UPDATE forge_access_tokens SET last_used_at = ? WHERE id = ?", at, id);
}

interface TokenRow {
  id: TokenId;
  user_id: UserId;
  name: string;
  last_eight: string;
  salt: string;
  hash: string;
  scope: string;
  created_at: number;
  last_used_at: number;
}

const columns = "id, user_id, name, last_eight, salt, hash, scope, created_at, last_used_at";

function toToken(row: TokenRow): ForgeToken {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    lastEight: row.last_eight,
    salt: row.salt,
    hash: row.hash,
    scope: row.scope,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
