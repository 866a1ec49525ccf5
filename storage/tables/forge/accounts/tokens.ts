import type { Queries, Transaction } from "../../../engine/database.ts";
import type { OauthSignInId, UserId, TokenId } from "../ids.ts";
import { sql } from "../../condition.ts";
import { generated, id, integer, optional, text } from "../../columns.ts";
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
  /** The sign-in of an application that it belongs to; undefined for a token that its owner made. */
  signInId: optional(id<OauthSignInId>()),
  /** Undefined for a token without an end. */
  expiresAt: optional(integer()),
});
/** An access token. Its secret is kept as a salted hash only. Times are epoch milliseconds. */
export type ForgeToken = RecordOf<typeof tokens>;

/** Adds a token. Throws `conflict` when its owner has one of that name. */
export async function insertToken(
  tx: Transaction,
  token: Omit<ForgeToken, "id" | "signInId" | "expiresAt"> &
    Partial<Pick<ForgeToken, "signInId" | "expiresAt">>,
): Promise<ForgeToken> {
  return tokens.insert(tx, token);
}

/** Deletes the tokens of a sign-in that have ended, and its oldest ones beyond `max`. */
export async function deleteOldTokens(
  tx: Transaction,
  signInId: OauthSignInId,
  max: number,
): Promise<void> {
  await tokens.delete(
    tx,
    sql`sign_in_id = ${signInId} AND (expires_at < ${tx.now} OR id NOT IN (
          SELECT t.id FROM forge_access_tokens t WHERE t.sign_in_id = ${signInId} ORDER BY t.id DESC LIMIT ${max}))`,
  );
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

/** A page of the tokens that a person made, newest first. */
export async function listTokensOfUser(
  db: Queries,
  userId: UserId,
  window: { readonly limit: number; readonly offset: number },
): Promise<ForgeToken[]> {
  return tokens.list(db, { userId, signInId: undefined }, { order: "id DESC", ...window });
}

export async function countTokensOfUser(db: Queries, userId: UserId): Promise<number> {
  return tokens.count(db, { userId, signInId: undefined });
}

export async function findTokenByName(
  db: Queries,
  userId: UserId,
  name: string,
): Promise<ForgeToken | undefined> {
  return tokens.find(db, { userId, name, signInId: undefined });
}

/** Deletes a token of a user; returns false when the user has no token with this id. */
export async function deleteToken(db: Queries, userId: UserId, id: TokenId): Promise<boolean> {
  return (await tokens.delete(db, { id, userId })) > 0;
}

/** Notes a use of the token. */
export async function touchToken(db: Queries, id: TokenId, at: number): Promise<void> {
  await tokens.update(db, { id }, { lastUsedAt: at });
}
