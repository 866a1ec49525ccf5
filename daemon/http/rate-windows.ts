import { createHash } from "node:crypto";
import type { RateWindow } from "../../storage/tables/common/rate-limits.ts";

/** A fixed window: at most `max` hits in `seconds` from the first hit on. */
export interface LimitRule {
  readonly max: number;
  readonly seconds: number;
}

/** Returns the whole seconds until a window ends, at least 1. */
export function secondsLeft({ expiresAt }: Pick<RateWindow, "expiresAt">, now: number): number {
  return Math.max(1, Math.ceil((expiresAt - now) / 1000));
}

/** Returns the hash of a key: it may contain an e-mail address and have any length. */
export function toStoredKey(key: string): string {
  return createHash("sha256").update(key).digest("base64url");
}
