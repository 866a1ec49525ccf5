import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";

/** A person's second factor. It takes effect once it is confirmed. */
export interface ForgeTwoFactor {
  readonly userId: UserId;
  /** The secret, sealed with the user's id as its context. */
  readonly sealedSecret: string;
  /** The newest time step whose code was used. */
  readonly lastStep: number;
  readonly createdAt: number;
  readonly confirmedAt: number | undefined;
}

/** Starts an enrolment; an earlier one that was not confirmed is replaced. Throws `conflict` when one is confirmed. */
export async function startTwoFactor(
  tx: Transaction,
  userId: UserId,
  sealedSecret: string,
): Promise<void> {
  await tx.run("DELETE FROM forge_two_factors WHERE user_id = ? AND confirmed_at IS NULL", userId);
  await tx.run(
    "INSERT INTO forge_two_factors (user_id, sealed_secret, last_step, created_at) VALUES (?, ?, 0, ?)",
    userId,
    sealedSecret,
    tx.now,
  );
}

export async function findTwoFactor(
  db: Queries,
  userId: UserId,
): Promise<ForgeTwoFactor | undefined> {
  const row = await db.get<TwoFactorRow>(
    "SELECT user_id, sealed_secret, last_step, created_at, confirmed_at FROM forge_two_factors WHERE user_id = ?",
    userId,
  );
  return (
    row && {
      userId: row.user_id,
      sealedSecret: row.sealed_secret,
      lastStep: row.last_step,
      createdAt: row.created_at,
      confirmedAt: row.confirmed_at ?? undefined,
    }
  );
}

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
  const { changes } = await db.run(
    "UPDATE forge_two_factors SET last_step = ? WHERE user_id = ? AND last_step < ? AND sealed_secret = ?",
    step,
    userId,
    step,
    sealedSecret,
  );
  return changes > 0;
}

/** Confirms an enrolment, so that the second factor takes effect. */
export async function confirmTwoFactor(tx: Transaction, userId: UserId): Promise<void> {
  await tx.run("UPDATE forge_two_factors SET confirmed_at = ? WHERE user_id = ?", tx.now, userId);
}

export async function deleteTwoFactor(tx: Transaction, userId: UserId): Promise<void> {
  await tx.run("DELETE FROM forge_two_factors WHERE user_id = ?", userId);
}

interface TwoFactorRow {
  user_id: UserId;
  sealed_secret: string;
  last_step: number;
  created_at: number;
  confirmed_at: number | null;
}
