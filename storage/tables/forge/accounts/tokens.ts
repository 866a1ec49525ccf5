import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, TokenId } from "../ids.ts";
import { generated, id, integer, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const tokens = defineTable("forge_access_tokens", {
  id: generated(id<TokenId>()),
  userId: id<UserId>(),
  /** Unique among its owner's, exactly. */
  name: text(),
  lastEight: text(),
  salt: text(),
  /** Lower-case hex. */
  hash: text(),
  /** In normal form. */
  scope: text(),
  createdAt: integer(),
  lastUsedAt: integer(),
});
/** An access token. Its secret is kept as a salted hash only. Times are epoch milliseconds. */
export type ForgeToken = RecordOf<typeof tokens>;

/** Adds a token. Throws `conflict` when its owner has one of that name. */
export async function insertToken(
  tx: Transaction,
  token: Omit<ForgeToken, "id">,
): Promise<ForgeToken> {
  const row = await tokens.readOne(
    tx,
    `INSERT INTO forge_access_tokens (user_id, name, last_eight, salt, hash, scope, created_at, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${tokens.columns}`,
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
  return row;
}

/** A token whose secret ends in these eight characters. */
export async function findTokenByLastEight(
  db: Queries,
  lastEight: string,
): Promise<ForgeToken | undefined> {
  return tokens.find(db, { lastEight }, "id");
}

/** The tokens whose secret may end in these eight characters. */
export async function listTokensByLastEight(db: Queries, lastEight: string): Promise<ForgeToken[]> {
  return tokens.list(db, { lastEight });
}

export async function findTokenById(db: Queries, id: TokenId): Promise<ForgeToken | undefined> {
  return tokens.find(db, { id });
}

/** A page of a person's tokens, newest first. */
export async function listTokensOfUser(
  db: Queries,
  userId: UserId,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeToken[]> {
  return tokens.list(db, { userId }, { order: "id DESC", ...window });
}

export async function countTokensOfUser(db: Queries, userId: UserId): Promise<number> {
  return tokens.count(db, { userId });
}

export async function findTokenByName(
  db: Queries,
  userId: UserId,
  name: string,
): Promise<ForgeToken | undefined> {
  return tokens.find(db, { userId, name });
}

/** Deletes a token of a user; returns false when the user has no token with this id. */
export async function deleteToken(db: Queries, userId: UserId, id: TokenId): Promise<boolean> {
  return (await tokens.delete(db, { id, userId })) > 0;
}

/** Notes a use of the token. */
export async function touchToken(db: Queries, id: TokenId, at: number): Promise<void> {
  await tokens.update(db, { id }, { lastUsedAt: at });
}
