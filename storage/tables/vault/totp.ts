import type { Transaction } from "../../engine/database.ts";
import { sql } from "../condition.ts";
import type { AccountId } from "./ids.ts";
import { users } from "./users.ts";

/** Stores the sealed secret of a pending setup and replaces an earlier one. False when the second factor is on. */
export async function storePendingTotp(
  tx: Transaction,
  userId: AccountId,
  { secret, expiresAt }: { readonly secret: string; readonly expiresAt: number },
): Promise<boolean> {
  const changes = { totpPendingSecret: secret, totpPendingExpiresAt: expiresAt };
  return (await users.update(tx, { id: userId, totpEnabled: false }, changes)) > 0;
}

/**
 * Turns the second factor on with the given sealed secret, revokes the access tokens issued before, and records
 * `step` as used. Returns false and changes nothing if it is already on or no setup is pending.
 */
export async function enableTotp(
  tx: Transaction,
  userId: AccountId,
  { secret, step }: { readonly secret: string; readonly step: number },
): Promise<boolean> {
  const pending = sql`id = ${userId} AND totp_enabled = 0 AND totp_pending_secret IS NOT NULL
    AND totp_pending_expires_at > ${tx.now}`;
  const changes = {
    ...REVOKED,
    totpEnabled: true,
    totpSecret: secret,
    totpLastStep: step,
    updatedAt: tx.now,
  };
  return (await users.update(tx, pending, changes)) > 0;
}

/** No setup is pending, and the access tokens issued before are revoked. */
const REVOKED = {
  totpPendingSecret: undefined,
  totpPendingExpiresAt: undefined,
  tokenVersion: sql`token_version + 1`,
};

/** Turns the second factor off, deletes its secret and revokes the access tokens issued before. False when it is off. */
export async function disableTotp(tx: Transaction, userId: AccountId): Promise<boolean> {
  const changes = {
    ...REVOKED,
    totpEnabled: false,
    totpSecret: undefined,
    totpLastStep: 0,
    updatedAt: tx.now,
  };
  return (await users.update(tx, { id: userId, totpEnabled: true }, changes)) > 0;
}

/** Records a time step as used. Returns false if any process has used this or a later step before. */
export async function takeTotpStep(
  tx: Transaction,
  userId: AccountId,
  step: number,
): Promise<boolean> {
  const unused = sql`id = ${userId} AND totp_enabled = 1 AND totp_last_step < ${step}`;
  return (await users.update(tx, unused, { totpLastStep: step })) > 0;
}
