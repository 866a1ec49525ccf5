import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../storage/engine/database.ts";
import { createLocks, type Locks } from "../../storage/locks.ts";
import { createOwner } from "../../storage/owner.ts";
import {
  endLease,
  findLeaseEnd,
  renewLease,
  takeLease,
} from "../../storage/tables/common/leases.ts";
import type { Log } from "../utilities/logging.ts";

export interface SharedLocksDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Milliseconds of a clock that nobody sets; that of the process. */
  readonly steadyClock?: () => number;
  /** Creates ids that no other daemon creates. */
  readonly newId: () => string;
  readonly log: Pick<Log, "warn">;
}

/** How long the lease of a daemon that died lasts. */
const LEASE_MS = 60_000;
const WAIT_MS = 10;
const WAIT_MS_MAX = 200;

/**
 * Creates locks whose `withLocks` excludes the calls of all daemons of one database: for changes of files and connected
 * storages, which no transaction orders. `withSharedLock` and `isLocked` know the calls of this process only.
 */
export function createSharedLocks({
  db,
  clock,
  steadyClock = () => performance.now(),
  newId,
  log,
}: SharedLocksDeps): Locks {
  const locks = createLocks();
  const owner = newId();

  const until = () => clock() + LEASE_MS;

  /** Waits until no other daemon holds the lease, or its end has not changed for as long as a lease lasts. */
  async function wait(name: string): Promise<void> {
    let held: { readonly until: number | undefined; readonly since: number } | undefined;
    for (let waitMs = WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
      const isAbandoned = held !== undefined && steadyClock() - held.since >= LEASE_MS;
      const abandoned = isAbandoned ? held?.until : undefined;
      if (await takeLease(db, { name, owner, until: until() }, clock(), abandoned)) return;
      const end = await findLeaseEnd(db, name);
      if (held === undefined || held.until !== end) held = { until: end, since: steadyClock() };
      await delay(waitMs);
    }
  }

  async function take(name: string): Promise<AsyncDisposable> {
    await wait(name);
    const warn = (err: unknown) => log.warn({ err }, "failed to renew or end the lease of a lock");
    const renewing = setInterval(
      () => void renewLease(db, { name, owner, until: until() }).catch(warn),
      LEASE_MS / 3,
    );
    renewing.unref();
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(renewing);
        // The work is done by now. A lease that could not be ended ends by itself.
        await endLease(db, { name, owner }).catch(warn);
      },
    };
  }

  return {
    ...locks,
    withLocks: (keys, work) =>
      locks.withLocks(keys, async () => {
        // A file of SQLite has one daemon.
        if (db.dialect === "sqlite") return work();
        await using leases = createOwner();
        // In one order at all daemons, so that no two wait for each other.
        const names = new Set(keys.map((key) => `lock ${hash("sha256", key, "hex")}`));
        for (const name of [...names].toSorted()) leases.own(await take(name));
        return await work();
      }),
  };
}
