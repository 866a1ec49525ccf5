import type { Database } from "../../storage/engine/database.ts";
import { countHit } from "../../storage/tables/common/rate-limits.ts";
import type { RateLimiter } from "./bind.ts";
import { toLimitKey } from "./client-address.ts";

const MS = 1000;

/**
 * Fixed windows, counted in the database: exact for any number of requests at once and any number of daemons, and
 * a restart forgets nothing. One statement per hit, not a library: the ones at hand read, add and write in
 * separate steps, or count in one process' memory, and then eleven of ten pass.
 */
export function createLimiter(deps: { readonly db: Database; readonly clock: () => number }): RateLimiter {
  return {
    async consume(key, { max, seconds }) {
      const now = deps.clock();
      const { points, expiresAt } = await countHit(deps.db, key, now, seconds * MS);
      return {
        allowed: points <= max,
        remaining: Math.max(0, max - points),
        resetSeconds: Math.max(1, Math.ceil((expiresAt - now) / MS)),
      };
    },
    addressKey: toLimitKey,
  };
}

/** Lets everything through: for measurements, where the limits would be what is measured. */
export function createNoLimiter(): RateLimiter {
  return {
    consume: async (_key, { max, seconds }) => ({ allowed: true, remaining: max, resetSeconds: seconds }),
    addressKey: toLimitKey,
  };
}
