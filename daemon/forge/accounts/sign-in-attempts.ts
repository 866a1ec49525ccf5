import { AppError } from "../../errors.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

interface LimitRule {
  readonly max: number;
  readonly seconds: number;
}

/** Counts attempts in fixed windows, for all processes and across restarts. */
export interface AttemptCounter {
  /** Counts one attempt for every key, or for none if any of them has used up its limit. */
  consumeAll(
    hits: readonly { readonly key: string; readonly rule: LimitRule }[],
  ): Promise<{ readonly allowed: boolean; readonly resetSeconds: number }>;
  /** Refunds one attempt of each key. */
  refund(keys: readonly string[]): Promise<void>;
  /** Resets the attempts of a key. */
  reset(key: string): Promise<void>;
  /** The key of an address: an IPv6 network counts as one caller. */
  addressKey(address: string): string;
}

/** An attempt that was counted before its password or code was checked. */
export interface CountedAttempt {
  /** Refunds the attempt after the right password or code. */
  succeed(): Promise<void>;
  /** Refunds the attempt because nothing could be checked. */
  cancel(): Promise<void>;
}

export type SignInAttempts = ReturnType<typeof createSignInAttempts>;

const SECONDS = 15 * 60;
/** Wrong passwords for one account from one address. They do not lock out other addresses. */
const PASSWORDS_PER_ACCOUNT_AND_ADDRESS: LimitRule = { max: 10, seconds: SECONDS };
/** Wrong passwords for one account from all addresses together. */
const PASSWORDS_PER_ACCOUNT: LimitRule = { max: 50, seconds: SECONDS };
/** Wrong passwords from one address for all accounts together. */
const PASSWORDS_PER_ADDRESS: LimitRule = { max: 100, seconds: SECONDS };
/** Wrong codes for one account. An attacker who gets this far knows the password. */
const CODES_PER_ACCOUNT: LimitRule = { max: 10, seconds: SECONDS };
/** Wrong codes from one address for all accounts together. */
const CODES_PER_ADDRESS: LimitRule = { max: 30, seconds: SECONDS };

/**
 * Rate limit for guessing passwords and second-factor codes. Every attempt is counted before it is checked, so that
 * parallel attempts cannot exceed a limit; a successful one is refunded.
 */
export function createSignInAttempts(counter: AttemptCounter) {
  return {
    /** Counts a password check of an account, known or not. Throws `rate_limited`. */
    async countPassword(account: string, address: string): Promise<CountedAttempt> {
      const caller = counter.addressKey(address);
      const both = `forge.login:${account}:${caller}`;
      const shared = [`forge.login.account:${account}`, `forge.login.address:${caller}`] as const;
      await count([
        { key: both, rule: PASSWORDS_PER_ACCOUNT_AND_ADDRESS },
        { key: shared[0], rule: PASSWORDS_PER_ACCOUNT },
        { key: shared[1], rule: PASSWORDS_PER_ADDRESS },
      ]);
      return {
        // Earlier wrong attempts stay counted in the counters that an attacker may share.
        async succeed() {
          await counter.reset(both);
          await counter.refund(shared);
        },
        cancel: () => counter.refund([both, ...shared]),
      };
    },

    /** Counts a check of a code. Throws `rate_limited`. */
    async countCode(userId: UserId, address: string): Promise<CountedAttempt> {
      const keys = [
        `forge.code:${userId}`,
        `forge.code.address:${counter.addressKey(address)}`,
      ] as const;
      await count([
        { key: keys[0], rule: CODES_PER_ACCOUNT },
        { key: keys[1], rule: CODES_PER_ADDRESS },
      ]);
      const refund = () => counter.refund(keys);
      return { succeed: refund, cancel: refund };
    },
  };

  async function count(hits: Parameters<AttemptCounter["consumeAll"]>[0]): Promise<void> {
    const { allowed, resetSeconds } = await counter.consumeAll(hits);
    if (allowed) return;
    throw new AppError(
      "rate_limited",
      `too many failed sign-ins, try again in ${resetSeconds} seconds; access tokens still work`,
      { retryAfterSeconds: resetSeconds },
    );
  }
}
