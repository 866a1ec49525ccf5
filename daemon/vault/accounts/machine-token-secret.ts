import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** Prefix that distinguishes machine tokens from access tokens, and lets scanners find leaked ones. */
const PREFIX = "crv_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH = 40;
const CHECKSUM_LENGTH = 6;
const SECRET = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** Returns a new token: `crv_`, 40 characters of base62 (238 bits), and 6 of their checksum. */
export function makeMachineToken(randomBytes: (length: number) => Uint8Array): string {
  let random = "";
  while (random.length < RANDOM_LENGTH)
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      // Larger values would make the first characters of the alphabet more frequent.
      if (byte >= ALPHABET.length * 4 || random.length === RANDOM_LENGTH) continue;
      random += ALPHABET.charAt(byte % ALPHABET.length);
    }
  return `${PREFIX}${random}${checksumOf(random)}`;
}

/** Returns whether a bearer token has the prefix of machine tokens. */
export function hasMachineTokenPrefix(token: string): boolean {
  return token.startsWith(PREFIX);
}

/**
 * Returns whether a token has the form of a machine token and its checksum matches, so that mistyped tokens cost no
 * query.
 */
export function isWellFormedMachineToken(token: string): boolean {
  if (!SECRET.test(token)) return false;
  const random = token.slice(PREFIX.length, PREFIX.length + RANDOM_LENGTH);
  return token.slice(PREFIX.length + RANDOM_LENGTH) === checksumOf(random);
}

/** Returns the hash by which a token is stored. A random secret of this length needs no salt. */
export function hashMachineToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** CRC-32 in base62, padded to 6 characters. */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    checksum = ALPHABET.charAt(rest % ALPHABET.length) + checksum;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return checksum;
}
