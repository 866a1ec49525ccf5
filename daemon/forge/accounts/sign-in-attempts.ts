import { setTimeout as sleep } from "node:timers/promises";
import { createSemaphores } from "../../../storage/locks.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import { writeIfPossible } from "../../utilities/within.ts";

interface LimitRule {
  readonly max: number;
  readonly seconds: number;
}

interface Hit {
  readonly key: string;
  readonly rule: LimitRule;
}

/** Counts attempts in fixed windows, for all processes and across restarts: see `createAttempts`. */
export interface AttemptCounter {
  begin(
    hits: readonly Hit[],
  ): Promise<
    | { readonly kind: "begun" }
    | { readonly kind: "refused"; readonly resetSeconds: number }
    | { readonly kind: "undecided"; readonly at: Hit }
  >;
  isUndecided(at: Hit): Promise<boolean>;
  end(
    keys: readonly string[],
    end: "right" | "wrong" | "unchecked",
    cleared?: readonly string[],
  ): Promise<void>;
}

export interface SignInAttemptsDeps {
  readonly attempts: AttemptCounter;
  /** The key of an address: an IPv6 network counts as one caller. */
  readonly addressKey: (address: string) => string;
}

/** A guess of a password or code. */
export interface Guess<Right> {
  /** Returns undefined for a wrong guess. Throws when nothing could be checked: then the guess does not count. */
  readonly check: () => Promise<Right | undefined>;
  /** The result of a check of the same guess that runs already. The guess waits for it instead of being checked again. */
  readonly shared?: () => Promise<Right | undefined> | undefined;
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

/** Interval of the looks whether the checks that a guess waits for have ended. */
const LOOK_MS = 25;
/** How long a guess waits for them; longer only while more passwords are checked than the processors can. */
const WAIT_MS_MAX = 10_000;
/** How often a guess begins again: others may have begun first each time. */
const TRIES_MAX = 100;
const RETRY_AFTER_SECONDS = 2;

/**
 * Rate limit for guessing passwords and second-factor codes. Every guess is counted before it is checked, so that parallel
 * ones, also at several daemons, cannot exceed a limit; a right one is uncounted. While guesses are being checked that would
 * fill a limit if they were all wrong, further ones wait for their results.
 */
export function createSignInAttempts({ attempts, addressKey }: SignInAttemptsDeps) {
  /** Waits for the checks at a limit, by its key. */
  const waits = new Map<string, Promise<boolean>>();
  /** Guesses at one limit count one after the other: those beyond it then find that they need not write. */
  const withTurn = createSemaphores({ permits: 1 });

  return {
    /** Checks a password of an account, known or not. Throws `rate_limited`, `unavailable`. */
    password<Right>(
      account: string,
      address: string,
      guess: Guess<Right>,
    ): Promise<Right | undefined> {
      const caller = addressKey(address);
      const both = `forge.login:${account}:${caller}`;
      const hits: [Hit, ...Hit[]] = [
        { key: both, rule: PASSWORDS_PER_ACCOUNT_AND_ADDRESS },
        { key: `forge.login.account:${account}`, rule: PASSWORDS_PER_ACCOUNT },
        { key: `forge.login.address:${caller}`, rule: PASSWORDS_PER_ADDRESS },
      ];
      // Earlier wrong attempts stay counted in the counters that an attacker may share.
      return attempt(hits, [both], guess);
    },

    /** Checks a code. Throws as `password`. */
    code(userId: UserId, address: string, check: () => Promise<boolean>): Promise<boolean> {
      const hits: [Hit, ...Hit[]] = [
        { key: `forge.code:${userId}`, rule: CODES_PER_ACCOUNT },
        { key: `forge.code.address:${addressKey(address)}`, rule: CODES_PER_ADDRESS },
      ];
      const guess = { check: async () => (await check()) || undefined };
      return attempt(hits, [], guess).then((isRight) => isRight === true);
    },
  };

  async function attempt<Right>(
    hits: readonly [Hit, ...Hit[]],
    cleared: readonly string[],
    { check, shared }: Guess<Right>,
  ): Promise<Right | undefined> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await withTurn(hits[0].key, () => attempts.begin(hits));
      if (outcome.kind === "begun") break;
      if (outcome.kind === "refused") throw tooMany(outcome.resetSeconds);
      // The same guess: scripts send many requests at once. Its failure is the other's; this one begins again.
      const right = await shared?.()?.catch(() => undefined);
      if (right !== undefined) return right;
      if (tries === TRIES_MAX || !(await untilDecided(outcome.at))) throw tooManyAtOnce();
    }
    const keys = hits.map(({ key }) => key);
    let right: Right | undefined;
    try {
      right = await check();
    } catch (error) {
      await writeIfPossible(() => attempts.end(keys, "unchecked"));
      throw error;
    }
    const isRight = right !== undefined;
    await writeIfPossible(() => attempts.end(keys, isRight ? "right" : "wrong", cleared));
    return right;
  }

  /** Returns whether the checks at a limit have ended. Guesses at the same limit look together. */
  function untilDecided(at: Hit): Promise<boolean> {
    const wait = waits.get(at.key) ?? look(at).finally(() => waits.delete(at.key));
    waits.set(at.key, wait);
    return wait;
  }

  async function look(at: Hit): Promise<boolean> {
    for (let waited = 0; waited < WAIT_MS_MAX; waited += LOOK_MS) {
      await sleep(LOOK_MS);
      if (!(await attempts.isUndecided(at))) return true;
    }
    return false;
  }
}

function tooMany(resetSeconds: number): AppError {
  return new AppError(
    "rate_limited",
    `too many failed sign-ins, try again in ${resetSeconds} seconds; access tokens still work`,
    { retryAfterSeconds: resetSeconds },
  );
}

function tooManyAtOnce(): AppError {
  return new AppError("unavailable", "Too many sign-ins at once. Try again in a moment.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
