import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";
import { integer, now, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

/** The scope of a machine token: requests that only read, or all requests that machine tokens may send. */
export type MachineTokenScope = "read" | "write";

const tokens = defineTable("vault_machine_tokens", {
  id: text(),
  userId: textId<AccountId>(),
  /** Unique among the tokens of its user. */
  name: text(),
  scope: text<MachineTokenScope>(),
  createdAt: now(),
  /** Undefined for a token that does not expire. */
  expiresAt: optional(integer()),
  /** Undefined until the first use. */
  lastUsedAt: optional(integer()),
  tokenHash: unread(text()),
});
/** A token for scripts; of its secret only the hash is stored. Times are epoch milliseconds. */
export type MachineToken = RecordOf<typeof tokens>;

/** Adds a token. Throws `conflict` when its user has one of that name. */
export async function insertMachineToken(
  tx: Transaction,
  token: Pick<MachineToken, "id" | "userId" | "name" | "scope" | "expiresAt">,
  tokenHash: string,
): Promise<MachineToken> {
  await tokens.insert(tx, { ...token, tokenHash });
  return { ...token, createdAt: tx.now, lastUsedAt: undefined };
}

/** Returns the token of a hash, expired or not. */
export async function findMachineToken(
  db: Queries,
  tokenHash: string,
): Promise<MachineToken | undefined> {
  return tokens.find(db, { tokenHash });
}

/** Returns one page of a user's tokens, newest first, and how many the user has. */
export async function listMachineTokens(
  db: Queries,
  userId: AccountId,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly tokens: MachineToken[]; readonly total: number }> {
  const rows = await tokens.list(db, { userId }, { order: "created_at DESC, id DESC", ...page });
  return { tokens: rows, total: await countMachineTokens(db, userId) };
}

/** Returns the number of tokens of a user, expired ones included. */
export async function countMachineTokens(db: Queries, userId: AccountId): Promise<number> {
  return tokens.count(db, { userId });
}

/** Deletes one token of a user and returns it; undefined when the user has no token with this id. */
export async function deleteMachineToken(
  tx: Transaction,
  userId: AccountId,
  id: string,
): Promise<MachineToken | undefined> {
  const row = await tokens.find(tx, { id, userId });
  if (row === undefined) return undefined;
  await tokens.delete(tx, { id });
  return row;
}

/** Deletes all tokens of a user and returns how many there were. */
export async function deleteMachineTokensOf(tx: Transaction, userId: AccountId): Promise<number> {
  return tokens.delete(tx, { userId });
}

/** Records a use, unless one was recorded after `before`. */
export async function recordMachineTokenUse(
  db: Queries,
  id: string,
  { now, before }: { readonly now: number; readonly before: number },
): Promise<void> {
  await tokens.update(db, sql`id = ${id} AND (last_used_at IS NULL OR last_used_at <= ${before})`, {
    lastUsedAt: now,
  });
}
