import type { Database } from "../../../storage/engine/database.ts";
import type { FileLockId } from "../../../storage/tables/forge/ids.ts";
import {
  deleteFileLock,
  type FileLock,
  insertFileLock,
  listFileLocks,
} from "../../../storage/tables/forge/repositories/file-locks.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import {
  createTransferAccess,
  needsCredentials,
  type TransferRequest,
} from "../git/transfer-access.ts";
import { notFound } from "../refusals.ts";
import { cleanFilePath } from "../repositories/paths.ts";

/** Which locks, and which part of the list. */
export interface LockQuery {
  readonly path?: string | undefined;
  readonly id?: string | undefined;
  /** The end of the part before, as a former answer gave it. */
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** A part of a list of locks. */
export interface LockPage {
  readonly locks: readonly FileLock[];
  /** Continues the list; undefined at its end. */
  readonly nextCursor: string | undefined;
}

const PAGE_LOCKS_MAX = 100;

/** A new lock, or the one that the file has already. */
export type Locking =
  | { readonly kind: "locked"; readonly lock: FileLock }
  | { readonly kind: "already_locked"; readonly lock: FileLock };

export type FileLocks = ReturnType<typeof createFileLocks>;

/**
 * Locks of files, by which people agree who changes a file that git cannot merge. Clients respect them; a push is not checked.
 * Every function refuses as `open` of `createTransferAccess` does: readers list, writers lock.
 */
export function createFileLocks({ db }: { readonly db: Database }) {
  const access = createTransferAccess(db);
  return {
    /** Returns locks, oldest first. */
    async list(request: TransferRequest, query: LockQuery): Promise<LockPage> {
      const { repository } = await access.open(request, "read");
      const limit = Math.min(query.limit ?? PAGE_LOCKS_MAX, PAGE_LOCKS_MAX);
      const found = await listFileLocks(db, repository.id, {
        path: query.path,
        id: query.id === undefined ? undefined : toLockId(query.id),
        after: query.cursor === undefined ? 0 : toLockId(query.cursor),
        limit: limit + 1,
      });
      const locks = found.slice(0, limit);
      const nextCursor = found.length > limit ? String(locks.at(-1)?.id) : undefined;
      return { locks, nextCursor };
    },

    /** As `list`, for a caller who may push, with whether each lock is the caller's own. */
    async listForPush(request: TransferRequest, query: LockQuery) {
      await access.open(request, "write");
      const { locks, nextCursor } = await this.list(request, query);
      const isOwn = ({ ownerId }: FileLock) =>
        request.caller !== undefined && isSelf(request.caller.user, ownerId);
      return {
        ours: locks.filter(isOwn),
        theirs: locks.filter((lock) => !isOwn(lock)),
        nextCursor,
      };
    },

    /** Locks a file. Refuses with `unprocessable` a malformed path. */
    async lock(request: TransferRequest, requestedPath: string): Promise<Locking> {
      return db.transaction(async (tx) => {
        const { repository } = await createTransferAccess(tx).open(request, "write");
        const ownerId = personOf(request.caller).user.id;
        const path = cleanFilePath(requestedPath);
        const added = await insertFileLock(tx, { repositoryId: repository.id, path, ownerId });
        if (added !== undefined) return { kind: "locked", lock: added };
        const [lock] = await listFileLocks(tx, repository.id, { path, after: 0, limit: 1 });
        if (lock === undefined) throw new AppError("conflict", "the file was locked and unlocked");
        return { kind: "already_locked", lock };
      });
    },

    /** Removes a lock and returns it. Refuses with `forbidden` the lock of another person without `isForced`. */
    async unlock(request: TransferRequest, id: string, isForced: boolean): Promise<FileLock> {
      return db.transaction(async (tx) => {
        const { repository } = await createTransferAccess(tx).open(request, "write");
        const { user } = personOf(request.caller);
        const query = { id: toLockId(id), after: 0, limit: 1 };
        const [lock] = await listFileLocks(tx, repository.id, query);
        if (lock === undefined) throw notFound();
        if (!isForced && !isSelf(user, lock.ownerId))
          throw new AppError(
            "forbidden",
            `the file is locked by ${lock.ownerName}: unlock it with --force`,
          );
        await deleteFileLock(tx, lock.id);
        return lock;
      });
    },
  };
}

/** Refuses with `forbidden` jobs and deploy keys: a lock tells which person works on a file. */
function personOf(caller: ForgeCaller | undefined): ForgeCaller {
  if (caller === undefined) throw needsCredentials();
  if (caller.user.task !== undefined || caller.user.deployKey !== undefined)
    throw new AppError("forbidden", "only a person can lock a file, with an account of their own");
  return caller;
}

/** Returns the id that a client sent; 0, which no lock has, for a text that is no id. */
function toLockId(text: string): FileLockId {
  return (/^\d{1,15}$/.test(text) ? Number(text) : 0) as FileLockId;
}
