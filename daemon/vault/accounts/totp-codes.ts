import { generateURI, ScureBase32Plugin, verifySync } from "otplib";

/** Length of a secret: 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
const STEP_SECONDS = 30;

const base32 = new ScureBase32Plugin();

/** A secret in base32, from `randomBytes`. */
export function createTotpSecret(randomBytes: (length: number) => Uint8Array): string {
  return base32.encode(randomBytes(SECRET_BYTES));
}

/** The `otpauth:` address that authenticator apps read. */
export function toProvisioningUri(given: {
  readonly secret: string;
  readonly issuer: string;
  readonly account: string;
}): string {
  return generateURI({ secret: given.secret, issuer: given.issuer, label: given.account });
}

/**
 * The time step that `code` belongs to: this one, the one before or the one after. Undefined when it belongs to
 * none of them, or to one that is not newer than `lastStep`.
 */
export function findTotpStep(given: {
  readonly secret: string;
  readonly code: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The newest step that was used. */
  readonly lastStep: number;
}): number | undefined {
  if (!/^[0-9]{6}$/.test(given.code)) return undefined;
  const result = verifySync({
    secret: given.secret,
    token: given.code,
    epoch: Math.floor(given.now / 1000),
    epochTolerance: STEP_SECONDS,
  });
  const step = result.valid && "timeStep" in result ? result.timeStep : undefined;
  // Compared here: the library throws when the last step lies ahead of a clock that went back.
  return step !== undefined && step > given.lastStep ? step : undefined;
}
