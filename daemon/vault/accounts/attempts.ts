import { AppError } from "../../errors.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Counts in fixed windows that begin with the first count, across processes and restarts. */
export interface AttemptCounter {
  consume(
    key: string,
    limit: { readonly max: number; readonly seconds: number },
  ): Promise<{ readonly allowed: boolean; readonly resetSeconds: number }>;
}

/** Ten attempts in 15 minutes. */
const SIGN_IN_LIMIT = { max: 10, seconds: 900 } as const;

/** Counts one attempt to sign in to an e-mail address, right or wrong. Throws `rate_limited` from the eleventh on. */
export function countSignIn(attempts: AttemptCounter, email: string): Promise<void> {
  return count(
    attempts,
    `vault.login:${email}`,
    "Too many login attempts. Try again in 15 minutes.",
  );
}

/**
 * Counts one check of a signed-in user's password, right or wrong, so that a stolen access token does not allow
 * guessing
 * the password. Throws `rate_limited` from the eleventh in 15 minutes on.
 */
export function countPasswordCheck(attempts: AttemptCounter, userId: AccountId): Promise<void> {
  return count(attempts, `vault.password:${userId}`, "Too many attempts. Try again in 15 minutes.");
}

async function count(attempts: AttemptCounter, key: string, text: string): Promise<void> {
  const { allowed, resetSeconds } = await attempts.consume(key, SIGN_IN_LIMIT);
  if (allowed) return;
  // Sent instead of the remaining attempts of the address, which would suggest that another attempt could succeed.
  throw new AppError("rate_limited", text, {
    retryAfterSeconds: resetSeconds,
    rateLimit: SIGN_IN_LIMIT.max,
  });
}
