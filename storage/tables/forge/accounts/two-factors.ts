import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, initial, integer, now, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId } from "../ids.ts";

const twoFactors = defineTable("forge_two_factors", {
  userId: id<UserId>(),
  /** The secret, sealed with the user's id as its context. */
  sealedSecret: text(),
  /** The newest time step whose code was used. */
  lastStep: initial(0, integer()),
  createdAt: now(),
  confirmedAt: optional(integer()),
});
/** A person's second factor. It takes effect once it is confirmed. */
export type ForgeTwoFactor = RecordOf<typeof twoFactors>;

/** Starts an enrolment; an earlier one that was not confirmed is replaced. Throws `conflict` when one is confirmed. */
export async function startTwoFactor(
  tx: Transaction,
  userId: UserId,
  sealedSecret: string,
): Promise<void> {
  await twoFactors.delete(tx, { userId, confirmedAt: undefined });
  await twoFactors.insert(tx, { userId, sealedSecret });
}

export const findTwoFactor = (db: Queries, userId: UserId): Promise<ForgeTwoFactor | undefined> =>
  twoFactors.find(db, { userId });

/**
 * Records the code of a time step as used. Returns true for exactly one caller, and only for a step later than every
 * used one. `sealedSecret` is the secret that the code was checked against: if it was replaced meanwhile, the result
 * is false.
 */
export async function useStep(
  db: Queries,
  userId: UserId,
  sealedSecret: string,
  step: number,
): Promise<boolean> {
  const unused = sql`user_id = ${userId} AND last_step < ${step} AND sealed_secret = ${sealedSecret}`;
  return (await twoFactors.update(db, unused, { lastStep: step })) > 0;
}

/** Confirms an enrolment, so that the second factor takes effect. */
export async function confirmTwoFactor(tx: Transaction, userId: UserId): Promise<void> {
  await twoFactors.update(tx, { userId }, { confirmedAt: tx.now });
}

export async function deleteTwoFactor(tx: Transaction, userId: UserId): Promise<void> {
  await twoFactors.delete(tx, { userId });
}
