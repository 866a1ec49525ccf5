import type { Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";

/** Stores the sealed secret of a pending setup and replaces an earlier one. False when the second factor is on. */
export async function storePendingTotp(
  tx: Transaction,
  userId: AccountId,
  pending: { readonly secret: string; readonly expiresAt: number },
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_users SET totp_pending_secret = ?, totp_pending_expires_at = ? WHERE id = ? AND totp_enabled = 0",
    pending.secret,
    pending.expiresAt,
    userId,
  );
  return changes > 0;
}

/**
 * Turns the second factor on with the given sealed secret, revokes the access tokens issued before, and records
 * `step` as used. Returns false and changes nothing if it is already on or no setup is pending.
 */
export async function enableTotp(
  tx: Transaction,
  userId: AccountId,
  enabled: { readonly secret: string; readonly step: number },
): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_users SET totp_enabled = 1, totp_secret = ?, totp_last_step = ?, totp_pending_secret = NULL,
       totp_pending_expires_at = NULL, token_version = token_version + 1, updated_at = ?
     WHERE id = ? AND totp_enabled = 0 AND totp_pending_secret IS NOT NULL AND totp_pending_expires_at > ?`,
    enabled.secret,
    enabled.step,
    tx.now,
    userId,
    tx.now,
  );
  return changes > 0;
}

/** Turns the second factor off, deletes its secret and revokes the access tokens issued before. False when it is off. */
export async function disableTotp(tx: Transaction, userId: AccountId): Promise<boolean> {
  const { changes } = await tx.run(
    `UPDATE vault_users SET totp_enabled = 0, totp_secret = NULL, totp_last_step = 0, totp_pending_secret = NULL,
       totp_pending_expires_at = NULL, token_version = token_version + 1, updated_at = ?
     WHERE id = ? AND totp_enabled = 1`,
    tx.now,
    userId,
  );
  return changes > 0;
}

/** Records a time step as used. Returns false if any process has used this or a later step before. */
export async function takeTotpStep(
  tx: Transaction,
  userId: AccountId,
  step: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_users SET totp_last_step = ? WHERE id = ? AND totp_enabled = 1 AND totp_last_step < ?",
    step,
    userId,
    step,
  );
  return changes > 0;
}
