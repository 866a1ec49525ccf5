import { setImmediate as turn } from "node:timers/promises";
import type { Database } from "../../../storage/engine/database.ts";
import {
  findMailbox,
  listMailboxRevisions,
} from "../../../storage/tables/forge/accounts/mailboxes.ts";
import { listUpdates } from "../../../storage/tables/forge/notifications.ts";
import { AppError } from "../../errors.ts";
import { findStillSignedIn } from "../accounts/authentication.ts";
import type { ForgeCaller } from "../caller.ts";
import { type SeenThread, seeThreads } from "./subjects.ts";

/** What a stream tells. A revision is of the mailbox: a stream that begins there misses nothing after it. */
export type StreamUpdate =
  | { readonly kind: "thread"; readonly revision: number; readonly seen: SeenThread }
  | { readonly kind: "count"; readonly revision: number; readonly unread: number }
  /** Nothing has happened for a while: whoever passes the stream on shall know that it lives. */
  | { readonly kind: "beat" };

/** A place among the streams that are open. */
export interface ThreadStream {
  /** The news, until `signal` or `close` ends them, or the caller is not signed in any more. Read at most once. */
  read(signal: AbortSignal): AsyncGenerator<StreamUpdate, void, void>;
  /** Gives the place back. */
  release(): void;
}

/** News of threads, told as they come. */
export interface ThreadStreams {
  /**
   * Opens a stream of what happens to the caller's threads after the revision that the caller knows, or from now on.
   * Refuses with `rate_limited` when the caller has `STREAMS_PER_PERSON_MAX` open, with `unavailable` when the daemon
   * serves `STREAMS_MAX`, or stops.
   */
  open(caller: ForgeCaller, known: number | undefined): ThreadStream;
  /** Ends all streams, for good. */
  close(): void;
}

export interface ThreadStreamsDeps {
  readonly db: Database;
  /** Told why streams had to end before their time. */
  readonly warn: (message: string, cause: unknown) => void;
  /** How often mailboxes are looked at while somebody listens, in milliseconds. */
  readonly lookEveryMs: number;
  /** A stream that is silent for this long sends a beat, in milliseconds. */
  readonly beatEveryMs: number;
}

/** Terminals that a person has open at once, and some that were lost and are not noticed yet. */
export const STREAMS_PER_PERSON_MAX = 8;
/** Each holds a connection, and is looked after several times a second. */
export const STREAMS_MAX = 1_000;
/** Threads that are read at once; a client that reads slowly makes the daemon hold no more. */
const PAGE = 50;

/** One stream as the round of looks knows it. */
interface Listener {
  readonly userId: number;
  /** The revision that its reader has seen; undefined before it reads. */
  revision: number | undefined;
  quietMs: number;
  isEnded: boolean;
  /** Set while the reader waits. */
  wake: (() => void) | undefined;
}

/**
 * Streams of news. Mailboxes are rows that other processes change, too, so they are looked at: all of those that somebody
 * listens to in one statement.
 */
export function createThreadStreams(deps: ThreadStreamsDeps): ThreadStreams {
  const { db, warn, lookEveryMs, beatEveryMs } = deps;
  const listeners = new Set<Listener>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  return {
    open(caller, known) {
      const userId = caller.user.id;
      assertRoom(userId);
      const listener: Listener = {
        userId,
        revision: undefined,
        quietMs: 0,
        isEnded: false,
        wake: undefined,
      };
      listeners.add(listener);
      timer ??= setTimeout(look, lookEveryMs);
      return {
        read: (signal) => read(caller, known, listener, signal),
        release: () => {
          end(listener);
          listeners.delete(listener);
        },
      };
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const listener of listeners) end(listener);
    },
  };

  function assertRoom(userId: number): void {
    const retryAfterSeconds = 10;
    if (isClosed || listeners.size >= STREAMS_MAX)
      throw new AppError("unavailable", "The server has no room for another stream.", {
        retryAfterSeconds,
      });
    const own = [...listeners].filter((each) => each.userId === userId).length;
    if (own >= STREAMS_PER_PERSON_MAX)
      throw new AppError("rate_limited", `You have ${own} streams open. Close one.`, {
        retryAfterSeconds,
      });
  }

  async function* read(
    caller: ForgeCaller,
    known: number | undefined,
    listener: Listener,
    signal: AbortSignal,
  ): AsyncGenerator<StreamUpdate, void, void> {
    const stop = () => end(listener);
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) return;
      yield* follow(caller, known, listener);
    } catch (error) {
      warn("a stream of notifications broke off", error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async function* follow(
    caller: ForgeCaller,
    wanted: number | undefined,
    listener: Listener,
  ): AsyncGenerator<StreamUpdate, void, void> {
    let known: number | undefined;
    while (!listener.isEnded) {
      const recipient = await findStillSignedIn(db, caller);
      if (recipient === undefined) return;
      const { revision, unread } = await findMailbox(db, recipient.id);
      listener.revision = revision;
      if (revision === known) {
        yield { kind: "beat" };
      } else {
        // A number from before the database was restored may be ahead of it.
        const after = known ?? Math.min(wanted ?? revision, revision);
        yield* tell(caller, { after, upTo: revision });
        known = revision;
        yield { kind: "count", revision, unread };
      }
      await quiet(listener);
    }
  }

  async function* tell(
    caller: ForgeCaller,
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): AsyncGenerator<StreamUpdate, void, void> {
    for (let known = after; known < upTo;) {
      const recipient = await findStillSignedIn(db, caller);
      if (recipient === undefined) return;
      const news = await listUpdates(db, recipient.id, { after: known, upTo, limit: PAGE });
      const threads = news.map(({ thread }) => thread);
      const seen = await seeThreads(db, threads, recipient);
      for (const [at, { revision }] of news.entries()) {
        const one = seen[at];
        if (one !== undefined) yield { kind: "thread", revision, seen: one };
      }
      // Whoever comes back after long is told of much: others have their turn in between.
      await turn();
      known = news.length < PAGE ? upTo : (news.at(-1)?.revision ?? upTo);
    }
  }

  /** Until there is something new, it has been silent for long enough, or the stream ends. */
  function quiet(listener: Listener): Promise<void> {
    listener.quietMs = 0;
    return new Promise((resolve) => {
      if (listener.isEnded) resolve();
      else listener.wake = resolve;
    });
  }

  function wake(listener: Listener): void {
    const { wake: resume } = listener;
    listener.wake = undefined;
    resume?.();
  }

  function end(listener: Listener): void {
    listener.isEnded = true;
    wake(listener);
  }

  async function look(): Promise<void> {
    try {
      const waiting = [...listeners].filter((each) => each.wake !== undefined);
      const revisions = await listMailboxRevisions(db, [...new Set(waiting.map(toUserId))]);
      for (const listener of waiting) {
        listener.quietMs += lookEveryMs;
        const revision = revisions.get(listener.userId) ?? 0;
        if (revision !== listener.revision || listener.quietMs >= beatEveryMs) wake(listener);
      }
    } catch (error) {
      // Their clients come back, and are told by the answer what is wrong.
      warn("mailboxes could not be looked at", error);
      for (const listener of listeners) end(listener);
    }
    timer = listeners.size === 0 || isClosed ? undefined : setTimeout(look, lookEveryMs);
  }
}

const toUserId = ({ userId }: Listener): number => userId;
