import { hash } from "node:crypto";
import type { Database } from "../../../storage/engine/database.ts";
import {
  countHit,
  deleteRateWindow,
  findRateWindow,
} from "../../../storage/tables/common/rate-limits.ts";
import { AppError } from "../../errors.ts";

/** Slows down those who try passwords and codes. Counts are rows: they outlive a restart and hold for all daemons. */
export interface SignInAttempts {
  /** Refuses with `rate_limited` while too many attempts of this kind failed lately. */
  assertAllowed(kind: AttemptKind): Promise<void>;
  fail(kind: AttemptKind): Promise<void>;
  succeed(kind: AttemptKind): Promise<void>;
}

/**
 * Wrong passwords count per name and address, so that nobody can lock another person out. Wrong codes count per
 * account: who gets so far knows the password.
 */
export type AttemptKind =
  | { readonly of: "password"; readonly name: string; readonly address: string }
  | { readonly of: "code"; readonly userId: number };

export interface SignInAttemptsDeps {
  readonly db: Database;
  readonly clock: () => number;
  /** What of an address counts as one caller. */
  readonly addressKey: (address: string) => string;
}

const FAILURES_MAX = 10;
const WINDOW_MS = 15 * 60_000;

export function createSignInAttempts({
  db,
  clock,
  addressKey,
}: SignInAttemptsDeps): SignInAttempts {
  const keyOf = (kind: AttemptKind) =>
    kind.of === "code"
      ? `forge.code:${kind.userId}`
      : `forge.login:${hash("sha256", kind.name.toLowerCase(), "hex")}:${addressKey(kind.address)}`;
  return {
    async assertAllowed(kind) {
      const window = await findRateWindow(db, keyOf(kind));
      const now = clock();
      if (window === undefined || window.points < FAILURES_MAX || window.expiresAt <= now) return;
      const seconds = Math.max(
        1,
        Math.ceil((Math.min(window.expiresAt, now + WINDOW_MS) - now) / 1000),
      );
      throw new AppError(
        "rate_limited",
        `too many failed sign-ins, try again in ${seconds} seconds`,
        {
          headers: { "Retry-After": String(seconds) },
        },
      );
    },
    async fail(kind) {
      await countHit(db, keyOf(kind), clock(), WINDOW_MS);
    },
    async succeed(kind) {
      const key = keyOf(kind);
      // Looked at first: nearly every sign-in has nothing to forget, and a read costs no commit.
      if ((await findRateWindow(db, key)) !== undefined) await deleteRateWindow(db, key);
    },
  };
}
