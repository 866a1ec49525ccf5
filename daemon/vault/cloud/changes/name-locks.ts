import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../../../storage/engine/database.ts";
import { createLocks } from "../../../../storage/locks.ts";
import { endLease, renewLease, takeLease } from "../../../../storage/tables/common/leases.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import type { Log } from "../../../utilities/logging.ts";

export interface NameLocksDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Creates ids that no other daemon creates. */
  readonly newId: () => string;
  readonly log: Log;
}

export type NameLocks = ReturnType<typeof createNameLocks>;

/** A name in a folder of a connection. */
export interface NewName {
  readonly connectionId: ConnectionId;
  readonly parent: string;
  readonly name: string;
}

/** How long the lease of a daemon that died lasts. */
const LEASE_MS = 60_000;
const WAIT_MS = 10;
const WAIT_MS_MAX = 200;

/**
 * Creates locks of the names of new folders, regardless of case: not every provider refuses a second folder of the same
 * name. The daemons of one database wait for each other.
 */
export function createNameLocks({ db, clock, newId, log }: NameLocksDeps) {
  const locks = createLocks();
  const owner = newId();

  /** Waits until no other daemon holds the name. */
  async function take(name: string): Promise<AsyncDisposable> {
    const until = () => clock() + LEASE_MS;
    for (let waitMs = WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
      if (await takeLease(db, { name, owner, until: until() }, clock())) break;
      await delay(waitMs);
    }
    const warn = (err: unknown) => log.warn({ err }, "failed to renew or end the lease of a name");
    const renewing = setInterval(
      () => void renewLease(db, { name, owner, until: until() }).catch(warn),
      LEASE_MS / 3,
    );
    renewing.unref();
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(renewing);
        // The folder exists by now. A lease that could not be ended ends by itself.
        await endLease(db, { name, owner }).catch(warn);
      },
    };
  }

  return {
    /** Runs `work` while no other call, on any daemon, has this name. */
    withName<T>({ connectionId, parent, name }: NewName, work: () => Promise<T>): Promise<T> {
      const key = JSON.stringify([connectionId, parent, name.toUpperCase()]);
      return locks.withLocks([key], async () => {
        // A file of SQLite has one daemon.
        if (db.dialect === "sqlite") return work();
        await using _lease = await take(`folder ${hash("sha256", key, "hex")}`);
        return await work();
      });
    },
  };
}
