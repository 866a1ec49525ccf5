import type { Database } from "../../../storage/engine/database.ts";
import {
  type DavLock,
  deleteDavLocks,
  deleteExpiredDavLocks,
  insertDavLock,
  listDavLocks,
  refreshDavLock,
} from "../../../storage/tables/vault/dav-locks.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";

/** A place that a request changes. */
export interface ChangedPlace {
  readonly place: string;
  /** Whether everything below it changes, too. */
  readonly isDeep: boolean;
  /** Whether it appears or disappears, so that the folder above it changes. */
  readonly changesFolder: boolean;
}

export type DavLocks = ReturnType<typeof createDavLocks>;

/** A faulty client locks without an end. */
const LOCKS_MAX = 1_000;
export const LOCK_SECONDS_MAX = 24 * 3600;

/**
 * The write locks of WebDAV clients. They hold for the clients of one account, live as rows until they expire, and do not
 * bind the API, whose changes have preconditions of their own.
 */
export function createDavLocks({
  db,
  clock,
  newId,
}: {
  readonly db: Database;
  readonly clock: () => number;
  readonly newId: () => string;
}) {
  return {
    list: listLive,

    /** Adds a lock, or returns those that it conflicts with. */
    create(
      userId: AccountId,
      wanted: Pick<DavLock, "place" | "scope" | "isDeep" | "owner" | "seconds">,
    ): Promise<
      | { readonly kind: "locked"; readonly lock: DavLock }
      | { readonly kind: "conflict"; readonly with: readonly DavLock[] }
    > {
      return db.transaction(async (tx) => {
        await deleteExpiredDavLocks(tx);
        const live = await listDavLocks(tx, userId, tx.now);
        const conflicts = live.filter(
          (lock) =>
            (lock.scope === "exclusive" || wanted.scope === "exclusive") &&
            (covers(lock, wanted.place) || (wanted.isDeep && isBelow(lock.place, wanted.place))),
        );
        if (conflicts.length > 0) return { kind: "conflict", with: conflicts } as const;
        if (live.length >= LOCKS_MAX)
          throw new AppError("rate_limited", `An account has at most ${LOCKS_MAX} locks.`);
        const expiresAt = tx.now + wanted.seconds * 1000;
        const token = `urn:uuid:${newId()}`;
        return {
          kind: "locked",
          lock: await insertDavLock(tx, { ...wanted, token, userId, expiresAt }),
        } as const;
      });
    },

    /** Lets a lock live for another time; undefined when it has ended. */
    refresh: (
      { userId, token }: Pick<DavLock, "userId" | "token">,
      seconds: number,
    ): Promise<DavLock | undefined> =>
      db.transaction((tx) =>
        refreshDavLock(tx, { userId, token }, { seconds, expiresAt: tx.now + seconds * 1000 }),
      ),

    remove: (userId: AccountId, tokens: readonly string[]): Promise<void> =>
      deleteDavLocks(db, userId, tokens),

    /** Ends the locks of what was deleted or moved away. */
    async removeBelow(userId: AccountId, place: string): Promise<void> {
      const ended = (await listLive(userId)).filter(
        (lock) => lock.place === place || isBelow(lock.place, place),
      );
      await deleteDavLocks(
        db,
        userId,
        ended.map(({ token }) => token),
      );
    },

    /** Returns the locks that forbid a change to a client that has sent these tokens. */
    async findBlocking(
      userId: AccountId,
      changed: readonly ChangedPlace[],
      tokens: ReadonlySet<string>,
    ): Promise<readonly DavLock[]> {
      const live = await listLive(userId);
      return changed.flatMap((change) => toBlocking(live, change, tokens));
    },
  };

  function listLive(userId: AccountId): Promise<DavLock[]> {
    return listDavLocks(db, userId, clock());
  }
}

function toBlocking(
  live: readonly DavLock[],
  { place, isDeep, changesFolder }: ChangedPlace,
  tokens: ReadonlySet<string>,
): readonly DavLock[] {
  const folder = place.slice(0, Math.max(0, place.lastIndexOf("/")));
  const groups = [
    live.filter((lock) => covers(lock, place)),
    changesFolder ? live.filter((lock) => lock.place === folder) : [],
    ...(isDeep
      ? [
          ...Map.groupBy(
            live.filter((lock) => isBelow(lock.place, place)),
            (lock) => lock.place,
          ).values(),
        ]
      : []),
  ];
  // Of several shared locks on a place, the token of one is enough.
  return groups.flatMap((group) =>
    group.some(({ token }) => tokens.has(token)) ? [] : group.slice(0, 1),
  );
}

/** Returns whether a lock is on a place, or on a folder above it with everything below. */
export function covers(lock: Pick<DavLock, "place" | "isDeep">, place: string): boolean {
  return lock.place === place || (lock.isDeep && isBelow(place, lock.place));
}

function isBelow(place: string, folder: string): boolean {
  return place.startsWith(`${folder}/`);
}
