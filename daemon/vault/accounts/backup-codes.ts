import { createHmac } from "node:crypto";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Number of backup codes that one enrolment creates. */
const CODES = 10;
const CODE_LENGTH = 10;
/** Crockford's base32: no i, l, o, u. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Returns ten different codes of the form `xxxxx-xxxxx`, 50 bits each. */
export function createBackupCodes(randomBytes: (length: number) => Uint8Array): string[] {
  const codes = new Set<string>();
  while (codes.size < CODES) {
    // The alphabet has 32 letters: the low five bits of a byte choose one without bias.
    const letters = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET.charAt(byte & 31));
    codes.add(`${letters.slice(0, 5).join("")}-${letters.slice(5).join("")}`);
  }
  return [...codes];
}

/**
 * Returns the stored hash of a code. It is keyed with the user's sealed second-factor secret, because 50 bits could be
 * brute-forced from a plain hash. Ignores dashes, spaces and case; reads i and l as 1 and o as 0.
 */
export function hashBackupCode(input: {
  readonly code: string;
  readonly userId: AccountId;
  readonly totpSecret: string;
}): string {
  const code = input.code
    .toLowerCase()
    .replace(/[\s-]/g, "")
    .replace(/[il]/g, "1")
    .replaceAll("o", "0");
  return createHmac("sha256", input.totpSecret)
    .update(`backup-code\n${input.userId}\n${code}`)
    .digest("hex");
}
