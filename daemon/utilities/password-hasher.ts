import { argon2id, hash, needsRehash, verify } from "argon2";
import { createSemaphore } from "../../storage/locks.ts";
import { AppError } from "../errors.ts";

/** Argon2id with bounded memory: a semaphore limits concurrent hashes, and a full queue refuses further ones. */
export interface PasswordHasher {
  /** Returns the PHC string of a password. Refuses with `unavailable` when the queue is full. */
  hash(password: string): Promise<string>;
  /**
   * Returns whether the password fits. An empty `stored`, for an account that is missing or has no password, takes the
   * same time and never fits. `outdated`: the hash has another cost than this hasher's and should be replaced. Refuses as `hash` does.
   */
  verify(
    stored: string,
    password: string,
  ): Promise<{ readonly fits: boolean; readonly outdated: boolean }>;
}

export interface PasswordHasherOptions {
  /** Maximum number of concurrent hashes; each takes 19 MiB. */
  readonly concurrency: number;
  /** Maximum number of waiting hashes. */
  readonly queueMax: number;
  /** The first of OWASP's recommended settings when absent. */
  readonly cost?: HashCost;
}

/** The cost of a hash of argon2id: KiB of memory, passes over it, threads. */
export interface HashCost {
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

const COST: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const RETRY_AFTER_SECONDS = 2;

/** Creates the hasher of a daemon; both APIs share it, and with it the bound on memory. */
export function createPasswordHasher({
  concurrency,
  queueMax,
  cost = COST,
}: PasswordHasherOptions): PasswordHasher {
  const { memoryCost, timeCost, parallelism } = cost;
  // Verified where an account has no hash, so that the response takes the same time. No known password has this digest.
  const decoy = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${"A".repeat(22)}$${"A".repeat(43)}`;
  const withPermit = createSemaphore({
    permits: concurrency,
    waitingMax: queueMax,
    toFullError: () =>
      new AppError("unavailable", "Too many sign-ins at once. Try again in a moment.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  });
  return {
    hash: (password) => withPermit(() => hash(password, { ...cost, type: argon2id })),
    async verify(stored, password) {
      const against = stored === "" ? decoy : stored;
      const fits = await withPermit(() => verify(against, password));
      return { fits: fits && stored !== "", outdated: stored !== "" && needsRehash(stored, cost) };
    },
  };
}
