import { argon2id, hash, needsRehash, verify } from "argon2";
import { AppError } from "../errors.ts";

/** Argon2id with bounded memory: hashes wait their turn, and a queue that is too long is refused. */
export interface PasswordHasher {
  /** The PHC string of a password. Refuses with `unavailable` when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * Whether the password fits. An empty `stored`, for an account that is missing or has no password, takes the
   * same time and never fits. `outdated` asks for a new hash, made with this hasher's cost.
   */
  verify(
    stored: string,
    password: string,
  ): Promise<{ readonly fits: boolean; readonly outdated: boolean }>;
}

export interface PasswordHasherOptions {
  /** Hashes at work at one time; each takes 19 MiB. */
  readonly concurrency: number;
  /** Hashes that may wait for their turn. */
  readonly queueMax: number;
}

/** The cost of a hash: the first of OWASP's recommended settings for argon2id. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** Checked where there is no hash. It costs what any other does; no password is known that has this digest. */
const decoy = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${"A".repeat(22)}$${"A".repeat(43)}`;
const RETRY_AFTER_SECONDS = 2;

/** Makes the one hasher of a daemon; both APIs share it, and so its bound. */
export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const inTurn = createTurns(options);
  const hashInTurn = (password: string) =>
    inTurn(() => hash(password, { ...COST, type: argon2id }));
  return {
    hash: hashInTurn,
    async verify(stored, password) {
      const against = stored === "" ? decoy : stored;
      const fits = await inTurn(() => verify(against, password));
      return { fits: fits && stored !== "", outdated: stored !== "" && needsRehash(stored, COST) };
    },
  };
}

type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

function createTurns({ concurrency, queueMax }: PasswordHasherOptions): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= concurrency) {
      if (waiting.length >= queueMax)
        throw new AppError("unavailable", "Too many sign-ins at once. Try again in a moment.", {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      // The one who finishes hands its turn over, so that `running` stays as it is.
      await new Promise<void>((start) => waiting.push(start));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
