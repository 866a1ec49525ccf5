import { generateURI, ScureBase32Plugin, verifySync } from "otplib";

/** Length of a secret: 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
const STEP_SECONDS = 30;

const base32 = new ScureBase32Plugin();

/** Returns a new TOTP secret in base32, made of `randomBytes`. */
export function createTotpSecret(randomBytes: (length: number) => Uint8Array): string {
  return base32.encode(randomBytes(SECRET_BYTES));
}

/** Returns the `otpauth:` address that authenticator apps read. */
export function toProvisioningUri(account: {
  readonly secret: string;
  readonly issuer: string;
  readonly account: string;
}): string {
  return generateURI({ secret: account.secret, issuer: account.issuer, label: account.account });
}

/**
 * Returns the time step of a TOTP code (RFC 6238): the current step, the one before or the one after. Undefined if the
 * code matches none of these, or if its step is not newer than `lastStep`.
 *
 * After the clock was set back, codes are refused until it passes `lastStep` again: an unused code cannot be
 * distinguished from a used one.
 */
export function findTotpStep(attempt: {
  readonly secret: string;
  readonly code: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The newest step whose code was used; 0 if no code was used. */
  readonly lastStep: number;
}): number | undefined {
  if (!/^[0-9]{6}$/.test(attempt.code)) return undefined;
  const result = verifySync({
    secret: attempt.secret,
    token: attempt.code,
    epoch: Math.floor(attempt.now / 1000),
    epochTolerance: STEP_SECONDS,
  });
  const step = result.valid && "timeStep" in result ? result.timeStep : undefined;
  // Compared here: otplib's `afterTimeStep` throws when the last step is ahead of the clock.
  return step !== undefined && step > attempt.lastStep ? step : undefined;
}
