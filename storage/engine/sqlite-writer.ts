import type Sqlite from "better-sqlite3";
import { StorageError } from "./database.ts";
import { toSqliteStorageError } from "./sqlite-errors.ts";

interface Member {
  readonly isTransaction: boolean;
  /** Set after a deferred foreign key refused a shared commit: its members then commit one by one. */
  alone: boolean;
  /** The work. The result of a transaction is awaited, that of a statement is not. */
  readonly apply: () => unknown;
  /** How often another process held the write lock when it was the member's turn. */
  refusals: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A member whose work has run and that waits for the commit and its sync. */
type Done = readonly [Member, value: unknown];

/** Maximum number of members of a commit: bounds how long a batch lasts and how much a failed commit rolls back. */
const MEMBERS_MAX = 256;
/** Interval of attempts to get the write lock while another process holds it. */
const RETRY_MS = 20;
/** Maximum number of waiting members: they hold the memory of their requests. */
const WAITING_MAX = 10_000;

export interface WriterOptions {
  /** How long a member waits for another process's write lock before it is rejected as `busy`. */
  readonly busyTimeoutMs: number;
  /** Called after each commit, when readers see it, before its sync. */
  readonly onCommit?: (() => void) | undefined;
  /** Waits until the last commit is on the disk. Without it a commit is complete by itself. */
  readonly sync?: (() => Promise<void>) | undefined;
  /** Called before each batch; throws a `StorageError` to reject all of it. */
  readonly assertWritable?: (() => void) | undefined;
}

/**
 * Queues writes on `connection`, which has no other writer in this process and never waits for a lock itself: that
 * would block the thread, and with it all reads. While another process holds the lock, members wait in the queue. None
 * of them has begun then, so none is done twice. The single writer of a database: runs its members one after the
 * other. Those that wait together share a commit and its sync, which does not block the thread. Those that arrive during a sync
 * wait for its end: the disk would not begin their own sync earlier, and together they write fewer pages.
 */
export function createWriter(
  connection: Sqlite.Database,
  { busyTimeoutMs, onCommit = ignore, sync, assertWritable = ignore }: WriterOptions,
) {
  const beginImmediate = connection.prepare("BEGIN IMMEDIATE");
  const commit = connection.prepare("COMMIT");
  const rollback = connection.prepare("ROLLBACK");
  const savepoint = connection.prepare("SAVEPOINT member");
  const release = connection.prepare("RELEASE member");
  const rollbackTo = connection.prepare("ROLLBACK TO member");

  const queue: Member[] = [];
  let state: "idle" | "scheduled" | "open" | "syncing" = "idle";
  let isBlocked = false;
  let closed = false;
  let onIdle: (() => void) | undefined;

  function enqueue<T>(isTransaction: boolean, apply: () => T | Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new StorageError("closed", "the database is closed"));
    if (queue.length >= WAITING_MAX)
      return Promise.reject(new StorageError("busy", "too many writes wait for the database"));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    queue.push({
      isTransaction,
      alone: false,
      refusals: 0,
      apply,
      resolve: (value) => resolve(value as T),
      reject,
    });
    if (state === "idle") schedule();
    return promise;
  }

  // Delayed, so that other writes of this iteration of the event loop join the batch, and input and output are handled
  // between two batches.
  function schedule(): void {
    state = "scheduled";
    if (isBlocked) setTimeout(begin, RETRY_MS);
    else setImmediate(begin);
  }

  function begin(): void {
    state = "open";
    isBlocked = false;
    const only = queue.length === 1 ? queue[0] : undefined;
    const batch = only === undefined || only.isTransaction ? runBatch() : applyAlone(only);
    batch.then(afterBatch, afterBatch);
  }

  /** Leaves the waiting members in the queue for another attempt; rejects those that have waited long enough. */
  function postpone(failure: StorageError): void {
    isBlocked = true;
    for (const member of queue.splice(0)) {
      member.refusals += 1;
      if (member.refusals * RETRY_MS > busyTimeoutMs) member.reject(failure);
      else queue.push(member);
    }
  }

  function afterBatch(): void {
    if (queue.length > 0) return schedule();
    state = "idle";
    onIdle?.();
  }

  /** Runs one statement without BEGIN and COMMIT: SQLite commits it itself. */
  async function applyAlone(member: Member): Promise<void> {
    queue.shift();
    let value: unknown;
    try {
      assertWritable();
      value = member.apply();
      onCommit();
    } catch (error) {
      if (!isBusy(error)) return member.reject(error);
      // SQLite takes the lock before it changes anything.
      queue.unshift(member);
      return postpone(error);
    }
    await acknowledge([[member, value]]);
  }

  async function runBatch(): Promise<void> {
    try {
      assertWritable();
      if (connection.inTransaction) rollback.run();
      beginImmediate.run();
    } catch (error) {
      const failure = toSqliteStorageError(error, "BEGIN IMMEDIATE");
      if (isBusy(failure)) return postpone(failure);
      for (const member of queue.splice(0, MEMBERS_MAX)) member.reject(failure);
      return;
    }
    const done: Done[] = [];
    try {
      await applyMembers(done);
      if (connection.inTransaction) await commitBatch(done);
    } catch (error) {
      // ROLLBACK failed as well; the next batch begins with another one.
      rejectAll(done, toSqliteStorageError(error, "ROLLBACK"));
    }
  }

  /** Runs the waiting members, and those that arrive while a transaction runs. */
  async function applyMembers(done: Done[]): Promise<void> {
    for (let applied = 0; applied < MEMBERS_MAX && connection.inTransaction; applied++) {
      const member = queue[0];
      if (member === undefined || (member.alone && applied > 0)) return;
      queue.shift();
      await applyMember(member, done);
      if (member.alone) return;
    }
  }

  async function applyMember(member: Member, done: Done[]): Promise<void> {
    // A failed statement rolls itself back, and ROLLBACK undoes a first transaction: neither needs a savepoint.
    const guarded = member.isTransaction && done.length > 0;
    try {
      if (guarded) savepoint.run();
      const value = member.isTransaction ? await member.apply() : member.apply();
      if (guarded) release.run();
      done.push([member, value]);
    } catch (error) {
      member.reject(error);
      if (!connection.inTransaction) return rejectAll(done, error); // a full disk makes SQLite roll back by itself
      if (!member.isTransaction) return;
      if (guarded) {
        rollbackTo.run();
        release.run();
      } else {
        rollback.run();
      }
    }
  }

  async function commitBatch(done: readonly Done[]): Promise<void> {
    try {
      commit.run();
      onCommit();
    } catch (error) {
      if (connection.inTransaction) rollback.run();
      const failure = toSqliteStorageError(error, "COMMIT");
      if (failure.code === "conflict" && done.length > 1) return retryAlone(done);
      return rejectAll(done, failure);
    }
    await acknowledge(done);
  }

  /** Notifies the callers of a commit when it is on the disk. If it may not be, they are rejected although readers see it. */
  async function acknowledge(done: readonly Done[]): Promise<void> {
    state = "syncing";
    try {
      if (done.length > 0) await sync?.();
    } catch (error) {
      return rejectAll(done, error);
    }
    for (const [member, value] of done) member.resolve(value);
  }

  function retryAlone(done: readonly Done[]): void {
    for (const [member] of done) member.alone = true;
    queue.unshift(...done.map(([member]) => member));
  }

  return {
    /** Runs one statement; resolves when it has committed and is on the disk. */
    statement: <T>(apply: () => T): Promise<T> => enqueue(false, apply),
    /** Runs a transaction; resolves when it has committed and is on the disk, rejects when it was rolled back or may not be durable. */
    transaction: <T>(apply: () => Promise<T>): Promise<T> => enqueue(true, apply),
    /** Returns whether a batch is open, so that the connection shows uncommitted changes. */
    isOpen: (): boolean => state === "open",
    /** Completes the waiting members and rejects new ones. */
    drain(): Promise<void> {
      closed = true;
      if (state === "idle") return Promise.resolve();
      return new Promise((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

/** Rejects the members of a batch that failed as a whole. */
function rejectAll(done: readonly Done[], error: unknown): void {
  for (const [member] of done) member.reject(error);
}

/** Returns whether another process held the lock. */
export function isBusy(error: unknown): error is StorageError {
  return error instanceof StorageError && error.code === "busy";
}

function ignore(): void {}
