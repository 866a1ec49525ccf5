import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  type DavLock,
  deleteDavLocks,
  deleteExpiredDavLocks,
  insertDavLock,
  listDavLocks,
  refreshDavLock,
  confirmDavLock,
} from "../../../storage/tables/vault/dav-locks.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";
import { listFoldersBeside, listFoldersOf, type LockPlace } from "./lock-places.ts";

/** A place that a request changes. */
export interface ChangedPlace extends LockPlace {
  /** Whether everything below it changes, too. */
  readonly isDeep: boolean;
  /** Whether it appears or disappears, so that the folder above it changes. */
  readonly changesFolder: boolean;
}

export type DavLocks = ReturnType<typeof createDavLocks>;

/** A faulty client locks without an end. */
const LOCKS_MAX = 1_000;
export const LOCK_SECONDS_MAX = 24 * 3600;
/** How long the lock of a file lives before the file is there: a client that never got its token cannot end it. */
const PENDING_SECONDS = 120;

/**
 * The write locks of WebDAV clients. They hold for the clients of one account, at every path of a file, live as rows until
 * they expire, and do not bind the API, whose changes have preconditions of their own.
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

    /**
     * Adds a lock, or returns those that it conflicts with. A pending one is of a file that is created next: it ends soon
     * unless `confirm` says that the file is there.
     */
    create(
      userId: AccountId,
      {
        isPending = false,
        ...wanted
      }: LockPlace &
        Pick<DavLock, "scope" | "isDeep" | "owner" | "seconds"> & { readonly isPending?: boolean },
    ): Promise<
      | { readonly kind: "locked"; readonly lock: DavLock }
      | { readonly kind: "conflict"; readonly with: readonly DavLock[] }
    > {
      return db.transaction(async (tx) => {
        await deleteExpiredDavLocks(tx);
        const live = await listDavLocks(tx, userId, tx.now);
        const [at = wanted, ...placed] = await locate(tx, userId, [wanted, ...live]);
        const conflicts = live.filter(
          (lock, index) =>
            (lock.scope === "exclusive" || wanted.scope === "exclusive") &&
            (covers(lock, at) || (wanted.isDeep && liesBelow(placed[index] ?? lock, wanted.place))),
        );
        if (conflicts.length > 0) return { kind: "conflict", with: conflicts } as const;
        if (live.length >= LOCKS_MAX)
          throw new AppError("rate_limited", `An account has at most ${LOCKS_MAX} locks.`);
        const { seconds } = wanted;
        const lives = isPending ? Math.min(seconds, PENDING_SECONDS) : seconds;
        const expiresAt = tx.now + lives * 1000;
        const token = `urn:uuid:${newId()}`;
        return {
          kind: "locked",
          lock: await insertDavLock(tx, {
            resourceId: undefined,
            ...wanted,
            token,
            userId,
            expiresAt,
          }),
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

    /** Lets a pending lock live for its time, on the file that is there now; undefined when it has ended. */
    confirm: (
      { userId, token, seconds }: Pick<DavLock, "userId" | "token" | "seconds">,
      resourceId: string | undefined,
    ): Promise<DavLock | undefined> =>
      db.transaction((tx) =>
        confirmDavLock(tx, { userId, token }, { resourceId, expiresAt: tx.now + seconds * 1000 }),
      ),

    /** Returns the live locks that are on a file or folder, or on a folder that holds it with everything below. */
    async listCovering(userId: AccountId, place: LockPlace): Promise<readonly DavLock[]> {
      const live = await listLive(userId);
      if (live.length === 0) return [];
      const [at = place] = await locate(db, userId, [place]);
      return live.filter((lock) => covers(lock, at));
    },

    /** Returns the places with the folders in which their files are, as `covers` needs them. */
    locate: (userId: AccountId, places: readonly LockPlace[]): Promise<readonly Located[]> =>
      locate(db, userId, places),

    /** Ends the locks of what was deleted or moved away, and those of files that are at no path any more. */
    async removeBelow(userId: AccountId, place: string): Promise<void> {
      const live = await listLive(userId);
      const files = live.flatMap(({ resourceId }) => resourceId ?? []);
      const present = await listFoldersOf(db, userId, files);
      const ended = live.filter(
        (lock) =>
          lock.place === place ||
          isBelow(lock.place, place) ||
          (lock.resourceId !== undefined && !present.has(lock.resourceId)),
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
      if (live.length === 0) return [];
      const placed = await locate(db, userId, live);
      const located = await locate(db, userId, changed);
      const found: DavLock[] = [];
      for (const [index, change] of changed.entries()) {
        const { folders = [] } = located[index] ?? {};
        const changesOthers = change.changesFolder || change.isDeep;
        const beside = changesOthers ? await listFoldersBeside(db, userId, change.place) : [];
        const at = { ...change, folders: [...folders, ...beside] };
        found.push(...toBlocking(live, placed, at, tokens));
      }
      return found;
    },
  };

  function listLive(userId: AccountId): Promise<DavLock[]> {
    return listDavLocks(db, userId, clock());
  }
}

/** A place with the other folders in which its file is. */
export interface Located extends LockPlace {
  readonly folders?: readonly string[];
}

async function locate(
  db: Queries,
  userId: AccountId,
  places: readonly LockPlace[],
): Promise<readonly Located[]> {
  const ids = places.flatMap(({ resourceId }) => resourceId ?? []);
  const folders = await listFoldersOf(db, userId, ids);
  return places.map(({ place, resourceId }) => ({
    ...{ place, resourceId },
    folders: (resourceId === undefined ? undefined : folders.get(resourceId)) ?? [],
  }));
}

function toBlocking(
  live: readonly DavLock[],
  placed: readonly Located[],
  change: ChangedPlace & Located,
  tokens: ReadonlySet<string>,
): readonly DavLock[] {
  const { place, isDeep, changesFolder, folders = [] } = change;
  const parent = place.slice(0, Math.max(0, place.lastIndexOf("/")));
  const changed = changesFolder ? [parent, ...folders] : [];
  const covering = Map.groupBy(
    live.filter((lock) => covers(lock, change)),
    ({ scope }) => scope,
  );
  const groups = [
    // A file may be in several folders that are locked.
    ...(covering.get("exclusive") ?? []).map((lock) => [lock]),
    covering.get("shared") ?? [],
    ...changed.map((folder) => live.filter((lock) => lock.place === folder)),
    ...(isDeep
      ? [
          ...Map.groupBy(
            live.filter((lock, index) => liesBelow(placed[index] ?? lock, place)),
            (lock) => lock.place,
          ).values(),
        ]
      : []),
  ];
  // Of several shared locks on a place, the token of one is enough.
  const blocking = groups.flatMap((group) =>
    group.some(({ token }) => tokens.has(token)) ? [] : group.slice(0, 1),
  );
  return [...new Set(blocking)];
}

/** Returns whether a lock is on a file or folder, or on a folder that holds it with everything below. */
export function covers(
  lock: Pick<DavLock, "place" | "isDeep" | "resourceId">,
  { place, resourceId, folders = [] }: Located,
): boolean {
  return (
    lock.place === place ||
    (lock.resourceId !== undefined && lock.resourceId === resourceId) ||
    (lock.isDeep &&
      (isBelow(place, lock.place) ||
        folders.some((folder) => folder === lock.place || isBelow(folder, lock.place))))
  );
}

/** Returns whether one of the paths of a file or folder is below a folder. */
function liesBelow({ place, folders = [] }: Located, above: string): boolean {
  return (
    isBelow(place, above) || folders.some((folder) => folder === above || isBelow(folder, above))
  );
}

function isBelow(place: string, folder: string): boolean {
  return place.startsWith(`${folder}/`);
}
