import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Database } from "../../../storage/engine/database.ts";
import {
  findMailbox,
  listMailboxRevisions,
} from "../../../storage/tables/forge/accounts/mailboxes.ts";
import { listUpdates } from "../../../storage/tables/forge/notifications.ts";
import { AppError } from "../../errors.ts";
import { findStillSignedIn } from "../accounts/authentication.ts";
import type { ForgeCaller } from "../caller.ts";
import { type ThreadDetails, loadThreadDetails } from "./subjects.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** An event of a stream. `revision` is the revision of the mailbox; a stream that resumes after it misses no event. */
export type StreamUpdate =
  | { readonly kind: "thread"; readonly revision: number; readonly thread: ThreadDetails }
  | { readonly kind: "count"; readonly revision: number; readonly unread: number }
  /** A keep-alive: proxies close connections that are silent for long. */
  | { readonly kind: "keep-alive" };

/** An open stream, which counts towards the limits until it is released. */
export interface ThreadStream {
  /** Yields events until `signal` or `close` ends the stream, or the caller is signed out. Call it at most once. */
  read(signal: AbortSignal): AsyncGenerator<StreamUpdate, void, void>;
  /** Releases the slot of the stream. */
  release(): void;
}

/** Publishes changes of threads to subscribed clients. */
export type ThreadStreams = ReturnType<typeof createThreadStreams>;

export interface ThreadStreamsDeps {
  readonly db: Database;
  /** Logs why streams ended early. */
  readonly warn: (message: string, cause: unknown) => void;
  /** Interval in which mailboxes are polled while a stream is open, in milliseconds. */
  readonly pollMs: number;
  /** Interval of keep-alives on a silent stream, in milliseconds. */
  readonly keepAliveMs: number;
}

/** Allows for several terminals of one person, and for lost connections that are not yet detected. */
export const STREAMS_PER_PERSON_MAX = 8;
/** Each stream holds a connection and is polled several times a second. */
export const STREAMS_MAX = 1_000;
/** Number of threads loaded by one query: the maximum that the daemon buffers for a slow client. */
const PAGE = 50;

/** The polling state of one stream. */
interface Subscriber {
  readonly userId: UserId;
  /** The latest revision that was sent; undefined before the first. */
  revision: number | undefined;
  quietMs: number;
  isEnded: boolean;
  /** Set while the reader waits. */
  wake: (() => void) | undefined;
}

/**
 * Creates the streams. They poll, because other processes change mailboxes as well: one statement reads the revisions
 * of all subscribed mailboxes.
 */
export function createThreadStreams(deps: ThreadStreamsDeps) {
  const { db, warn, pollMs, keepAliveMs } = deps;
  const subscribers = new Set<Subscriber>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  return {
    /**
     * Opens a stream of changes to the caller's threads after the revision `known`, by default from now on. Refuses with
     * `rate_limited` when the caller has `STREAMS_PER_PERSON_MAX` streams open, and with `unavailable` when the daemon
     * serves `STREAMS_MAX` streams or shuts down.
     */
    open(caller: ForgeCaller, known: number | undefined): ThreadStream {
      const userId = caller.user.id;
      assertRoom(userId);
      const subscriber: Subscriber = {
        userId,
        revision: undefined,
        quietMs: 0,
        isEnded: false,
        wake: undefined,
      };
      subscribers.add(subscriber);
      timer ??= setTimeout(poll, pollMs);
      return {
        read: (signal) => read(caller, known, subscriber, signal),
        release: () => {
          end(subscriber);
          subscribers.delete(subscriber);
        },
      };
    },
    /** Ends all streams and refuses new ones. */
    close(): void {
      isClosed = true;
      clearTimeout(timer);
      for (const subscriber of subscribers) end(subscriber);
    },
  };

  function assertRoom(userId: UserId): void {
    const retryAfterSeconds = 10;
    if (isClosed || subscribers.size >= STREAMS_MAX)
      throw new AppError("unavailable", "The server accepts no further streams.", {
        retryAfterSeconds,
      });
    const own = [...subscribers].filter((each) => each.userId === userId).length;
    if (own >= STREAMS_PER_PERSON_MAX)
      throw new AppError("rate_limited", `You have ${own} streams open. Close one.`, {
        retryAfterSeconds,
      });
  }

  async function* read(
    caller: ForgeCaller,
    known: number | undefined,
    subscriber: Subscriber,
    signal: AbortSignal,
  ): AsyncGenerator<StreamUpdate, void, void> {
    const stop = () => end(subscriber);
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) return;
      yield* follow(caller, known, subscriber);
    } catch (error) {
      warn("notification stream failed", error);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async function* follow(
    caller: ForgeCaller,
    lastEventId: number | undefined,
    subscriber: Subscriber,
  ): AsyncGenerator<StreamUpdate, void, void> {
    let known: number | undefined;
    while (!subscriber.isEnded) {
      const recipient = await findStillSignedIn(db, caller);
      if (recipient === undefined) return;
      const { revision, unread } = await findMailbox(db, recipient.id);
      subscriber.revision = revision;
      if (revision === known) {
        yield { kind: "keep-alive" };
      } else {
        // After a restore of the database, the client's revision may be ahead of the mailbox.
        const after = known ?? Math.min(lastEventId ?? revision, revision);
        yield* readUpdates(caller, { after, upTo: revision });
        known = revision;
        yield { kind: "count", revision, unread };
      }
      await waitForChange(subscriber);
    }
  }

  async function* readUpdates(
    caller: ForgeCaller,
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): AsyncGenerator<StreamUpdate, void, void> {
    for (let known = after; known < upTo;) {
      const recipient = await findStillSignedIn(db, caller);
      if (recipient === undefined) return;
      const updates = await listUpdates(db, recipient.id, { after: known, upTo, limit: PAGE });
      const threads = await loadThreadDetails(
        db,
        updates.map((update) => update.thread),
        recipient,
      );
      for (const [at, { revision }] of updates.entries()) {
        const thread = threads[at];
        if (thread !== undefined) yield { kind: "thread", revision, thread };
      }
      // A client that resumes after a long time gets many updates: other requests run in between.
      await yieldToEventLoop();
      known = updates.length < PAGE ? upTo : (updates.at(-1)?.revision ?? upTo);
    }
  }

  /** Resolves when the mailbox changes, a keep-alive is due, or the stream ends. */
  function waitForChange(subscriber: Subscriber): Promise<void> {
    subscriber.quietMs = 0;
    return new Promise((resolve) => {
      if (subscriber.isEnded) resolve();
      else subscriber.wake = resolve;
    });
  }

  function wake(subscriber: Subscriber): void {
    const { wake: resume } = subscriber;
    subscriber.wake = undefined;
    resume?.();
  }

  function end(subscriber: Subscriber): void {
    subscriber.isEnded = true;
    wake(subscriber);
  }

  async function poll(): Promise<void> {
    try {
      const waiting = [...subscribers].filter((each) => each.wake !== undefined);
      const revisions = await listMailboxRevisions(db, [...new Set(waiting.map(userIdOf))]);
      for (const subscriber of waiting) {
        subscriber.quietMs += pollMs;
        const revision = revisions.get(subscriber.userId) ?? 0;
        if (revision !== subscriber.revision || subscriber.quietMs >= keepAliveMs) wake(subscriber);
      }
    } catch (error) {
      // The clients reconnect, and that response reports the error.
      warn("failed to poll mailboxes", error);
      for (const subscriber of subscribers) end(subscriber);
    }
    timer = subscribers.size === 0 || isClosed ? undefined : setTimeout(poll, pollMs);
  }
}

const userIdOf = ({ userId }: Subscriber): UserId => userId;
