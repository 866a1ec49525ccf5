import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../../storage/engine/database.ts";
import { createLocks, type Locks } from "../../../storage/locks.ts";
import { createOwner } from "../../../storage/owner.ts";
import { endLease, renewLease, takeLease } from "../../../storage/tables/common/leases.ts";
import type { ConnectionId } from "../../../storage/tables/vault/ids.ts";
import type { Log } from "../../utilities/logging.ts";

export interface SharedLocksDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Creates ids that no other daemon creates. */
  readonly newId: () => string;
  readonly log: Pick<Log, "warn">;
}

/** How long the lease of a daemon that died lasts. */
const LEASE_MS = 60_000;
const WAIT_MS = 10;
const WAIT_MS_MAX = 200;

/**
 * Creates locks for which the daemons of one database wait: many a storage does not compare and change in one step.
 * `withSharedLock` and `isLocked` know the calls of this process only.
 */
export function createSharedLocks({ db, clock, newId, log }: SharedLocksDeps): Locks {
  const locks = createLocks();
  const owner = newId();

  /** Waits until no other daemon holds the lock. */
  async function take(name: string): Promise<AsyncDisposable> {
    const until = () => clock() + LEASE_MS;
    for (let waitMs = WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
      if (await takeLease(db, { name, owner, until: until() }, clock())) break;
      await delay(waitMs);
    }
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

export type NameLocks = ReturnType<typeof createNameLocks>;

/** A name in a folder of a connection. */
export interface NewName {
  readonly connectionId: ConnectionId;
  readonly parent: string;
  readonly name: string;
}

/**
 * Creates locks of the names of new items, regardless of case: not every provider refuses a second item of the same name.
 */
export function createNameLocks({ withLocks }: Pick<Locks, "withLocks">) {
  return {
    /** Runs `work` while no other call has this name. */
    withName: <T>({ connectionId, parent, name }: NewName, work: () => Promise<T>): Promise<T> =>
      withLocks([JSON.stringify(["name", connectionId, parent, name.toUpperCase()])], work),
  };
}
