import { createSecretKey, hash } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";

/** What a reset token says: whose password it may replace, and which one. */
export interface ResetClaims {
  readonly userId: string;
  /** Of the hash that is to be replaced; see `fingerprintOfHash`. */
  readonly replaces: string;
}

/** Makes and reads the tokens of reset links: signed, good for an hour and for one password only. */
export interface ResetTokens {
  issue(claims: ResetClaims): Promise<string>;
  /** Undefined for anything that this server did not issue within the last hour. */
  read(token: string): Promise<ResetClaims | undefined>;
}

/** Life of a reset token (vault API, Limits). */
const RESET_SECONDS = 3600;

/** `keys` are 32 bytes each, newest first: the first signs, all are good for checking. */
export function createResetTokens(options: {
  readonly keys: readonly Uint8Array[];
  readonly clock: () => number;
}): ResetTokens {
  const keys = options.keys.map((bytes) => createSecretKey(bytes));
  const [newest] = keys;
  if (newest === undefined) throw new Error("reset tokens need a key");
  const seconds = () => Math.floor(options.clock() / 1000);
  return {
    issue: ({ userId, replaces }) =>
      new SignJWT({ rpl: replaces })
        .setProtectedHeader({ alg: "HS256", typ: "reset" })
        .setSubject(userId)
        .setIssuedAt(seconds())
        .setExpirationTime(seconds() + RESET_SECONDS)
        .sign(newest),

    async read(token) {
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
            return { userId: sub, replaces: rpl };
        } catch {
          // Not of this key, or not good any more: its bearer hears the same either way.
        }
      }
      return undefined;
    },
  };
}

/** Names a password hash without giving it away: once the hash is replaced, tokens that name it are spent. */
export function fingerprintOfHash(passwordHash: string): string {
  return hash("sha256", `password-reset\n${passwordHash}`, "base64url").slice(0, 22);
}
