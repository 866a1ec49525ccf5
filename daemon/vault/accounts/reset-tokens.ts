import { createSecretKey, hash } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { type AccountId, toAccountId } from "../../../storage/tables/vault/ids.ts";

/** The claims of a reset token: the user, and the password that it may replace. */
export interface ResetClaims {
  readonly userId: AccountId;
  /** The fingerprint of the hash to replace; see `fingerprintOfAccount`. */
  readonly replaces: string;
}

/** Issues and verifies the tokens of reset links: signed, valid for an hour and for a single use. */
export type ResetTokens = ReturnType<typeof createResetTokens>;

/** Lifetime of a reset token. */
export const RESET_SECONDS = 3600;

/**
 * Creates the issuer. `keys` are 32 bytes each, newest first: the first signs, all verify. Issuers with keys of
 * different purposes refuse the tokens of each other.
 */
export function createResetTokens(options: {
  readonly keys: readonly Uint8Array[];
  readonly clock: () => number;
  readonly lifetimeSeconds: number;
}) {
  const keys = options.keys.map((bytes) => createSecretKey(bytes));
  const [newest] = keys;
  if (newest === undefined) throw new Error("reset tokens need a key");
  const seconds = () => Math.floor(options.clock() / 1000);
  return {
    issue: ({ userId, replaces }: ResetClaims): Promise<string> =>
      new SignJWT({ rpl: replaces })
        .setProtectedHeader({ alg: "HS256", typ: "reset" })
        .setSubject(userId)
        .setIssuedAt(seconds())
        .setExpirationTime(seconds() + options.lifetimeSeconds)
        .sign(newest),

    /** Returns undefined for a token that this server did not issue, or whose lifetime is over. */
    async read(token: string): Promise<ResetClaims | undefined> {
      for (const key of keys) {
        try {
          const { payload } = await jwtVerify(token, key, {
            algorithms: ["HS256"],
            typ: "reset",
            requiredClaims: ["sub", "exp"],
            currentDate: new Date(options.clock()),
          });
          const { sub, rpl } = payload;
          if (typeof sub === "string" && typeof rpl === "string")
            return { userId: toAccountId(sub), replaces: rpl };
        } catch {
          // Signed by another key, or expired: the response is the same.
        }
      }
      return undefined;
    },
  };
}

/**
 * Identifies the password and the address of an account without revealing them. Another password or address invalidates
 * tokens with its fingerprint: a link that was mailed to a former address is worthless.
 */
export function fingerprintOfAccount({
  email,
  passwordHash,
}: {
  readonly email: string;
  readonly passwordHash: string;
}): string {
  return hash("sha256", `password-reset\n${email}\n${passwordHash}`, "base64url").slice(0, 22);
}
