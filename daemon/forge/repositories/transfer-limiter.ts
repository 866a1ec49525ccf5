import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { GitProcess } from "../../../storage/git/git.ts";
import { AppError } from "../../errors.ts";
import { limitAddress } from "../../http/client-address.ts";

/** Limits of concurrent transfers. */
export interface TransferLimits {
  /** Maximum number of concurrent transfers: in total, of one client, and of all anonymous clients together. */
  readonly atOnce: number;
  readonly perClient: number;
  readonly anonymous: number;
  /** Length of the queue: in total, and of one client. */
  readonly waiting: number;
  readonly waitingPerClient: number;
}

/** The client of a transfer: an account, or the address of an anonymous caller. */
export interface TransferClient {
  readonly caller: { readonly user: { readonly id: number } } | undefined;
  readonly address: string;
}

/** A place of a limiter. */
interface Slot {
  /** Gives the place back for good. Idempotent. */
  readonly release: () => void;
  /** Gives the place to others for a while. */
  readonly suspend: () => void;
  /** Takes the place back at once, even if others have all places: the next one starts when enough of them have ended. */
  readonly resume: () => void;
}

export type TransferLimiter = ReturnType<typeof createTransferLimiter>;

/** Limits the git processes whose output goes to clients at the clients' speed. */
export interface StreamLimiter extends TransferLimiter {
  /** Acquires a slot as `acquire` does, and a place among the open streams. */
  acquireStream(client: TransferClient, signal: AbortSignal): Promise<StreamSlot>;
}

export type StreamSlot = ReturnType<typeof createStreamSlot>;

/** The output of a git process on its way to a client. */
export type WatchedOutput = ReturnType<typeof toWatched>;

interface Waiting {
  readonly client: Client;
  readonly begin: () => void;
}

interface Client {
  readonly key: string;
  readonly isAnonymous: boolean;
}

/**
 * How often a stream is checked for a slow reader, and the bytes that git has written since if it is not slow. A slower one
 * needs little of git's processor time.
 */
const STALL_CHECK_MS = 500;
const STALL_BYTES = 64 * 1024;
/** Checks in a row, a minute, in which a slow client takes or sends `STALL_BYTES` at least. */
export const STALLS_MAX = 120;
/** The same over SSH for a client that sends: git packs a large push for minutes after it has connected. */
const PACKING_STALLS_MAX = 1_200;
/** Checks without output after which a git that talks to its client waits for it: one that works sends a byte every 5 s. */
const SILENT_CHECKS = 20;

/**
 * Limits changes that git makes while a request waits, such as a merge: 4 at the same time, and one of a user; others wait.
 */
export const createChangeLimiter = (): TransferLimiter =>
  createTransferLimiter({
    atOnce: 4,
    perClient: 1,
    anonymous: 0,
    waiting: 64,
    waitingPerClient: 16,
  });

/** A semaphore with limits per client and a bounded queue. Some slots are reserved for accounts. */
export function createTransferLimiter(limits: TransferLimits) {
  const acquire = createSlots(limits);
  return {
    /**
     * Acquires a slot and returns the function that releases it, which is idempotent. Refuses with `unavailable` when the
     * queue is full. Rejects with the reason of the signal when it is aborted while waiting.
     */
    acquire: async (client: TransferClient, signal: AbortSignal): Promise<() => void> =>
      (await acquire(client, signal)).release,
  };
}

/**
 * Creates a limiter of git processes. `work` bounds those that work, `open` the streams, many of which may have slow readers:
 * they hold no slot of `work` while git waits for them.
 */
export function createStreamLimiter(limits: {
  readonly work: TransferLimits;
  readonly open: TransferLimits;
  /** Interval of the checks for slow readers; 500 ms. */
  readonly checkMs?: number;
}): StreamLimiter {
  const acquireWork = createSlots(limits.work);
  const acquireOpen = createSlots(limits.open);
  return {
    acquire: async (client, signal) => (await acquireWork(client, signal)).release,
    async acquireStream(client, signal) {
      const place = await acquireOpen(client, signal);
      try {
        const slot = await acquireWork(client, signal);
        return createStreamSlot(slot, place, limits.checkMs ?? STALL_CHECK_MS);
      } catch (error) {
        place.release();
        throw error;
      }
    },
  };
}

/** The slot of one git process and of the stream of its output. */
function createStreamSlot(slot: Slot, place: Slot, checkMs: number) {
  let timer: NodeJS.Timeout | undefined;
  return {
    /**
     * Gives the slot to others while the client is slow, until `release`. Stops a process whose client takes or sends less
     * than 64 KiB in its patience: it would hold its place among the open streams.
     */
    watch(output: WatchedOutput): void {
      let before = -STALL_BYTES;
      let takenBefore = 0;
      let stalls = 0;
      timer = setInterval(() => {
        const bytes = output.bytes();
        const patience = output.patience();
        if (patience !== undefined && bytes - before < STALL_BYTES) {
          slot.suspend();
          stalls += 1;
          if (stalls >= patience) output.stop();
        } else slot.resume();
        if (patience === undefined || bytes - takenBefore >= STALL_BYTES) {
          takenBefore = bytes;
          stalls = 0;
        }
        before = bytes;
      }, checkMs);
      timer.unref();
    },
    /** Gives both places back. Idempotent. */
    release(): void {
      clearInterval(timer);
      slot.release();
      place.release();
    },
  };
}

type Acquire = (client: TransferClient, signal: AbortSignal) => Promise<Slot>;

function createSlots(limits: TransferLimits): Acquire {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let total = 0;
  let anonymous = 0;

  const isFree = ({ key, isAnonymous }: Client) =>
    total < limits.atOnce &&
    (running.get(key) ?? 0) < limits.perClient &&
    (!isAnonymous || anonymous < limits.anonymous);

  const count = ({ key, isAnonymous }: Client, change: 1 | -1) => {
    total += change;
    if (isAnonymous) anonymous += change;
    const own = (running.get(key) ?? 0) + change;
    if (own === 0) running.delete(key);
    else running.set(key, own);
  };

  const begin = (client: Client): Slot => {
    count(client, 1);
    let state: "held" | "suspended" | "released" = "held";
    const change = (to: typeof state) => {
      if (state === to || state === "released") return;
      const wasHeld = state === "held";
      state = to;
      if (to === "held") count(client, 1);
      else if (wasHeld) {
        count(client, -1);
        next();
      }
    };
    return {
      release: () => change("released"),
      suspend: () => change("suspended"),
      resume: () => change("held"),
    };
  };

  const next = () => {
    const index = waiting.findIndex(({ client }) => isFree(client));
    if (index !== -1) waiting.splice(index, 1)[0]?.begin();
  };

  const isQueueFull = ({ key }: Client) =>
    waiting.length >= limits.waiting ||
    waiting.filter(({ client }) => client.key === key).length >= limits.waitingPerClient;

  return async (asking, signal) => {
    signal.throwIfAborted();
    const client = toClient(asking);
    if (isFree(client)) return begin(client);
    if (isQueueFull(client))
      throw new AppError(
        "unavailable",
        "too many clones and pushes at once, try again in a moment",
        {
          retryAfterSeconds: 5,
        },
      );
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: Waiting = { client, begin: () => resolve(begin(client)) };
    const giveUp = () => {
      const index = waiting.indexOf(waiter);
      if (index !== -1) waiting.splice(index, 1);
      reject(signal.reason);
    };
    waiting.push(waiter);
    signal.addEventListener("abort", giveUp, { once: true });
    return promise.finally(() => signal.removeEventListener("abort", giveUp));
  };
}

/** All addresses of an IPv6 network count as one client. */
function toClient({ caller, address }: TransferClient): Client {
  return caller === undefined
    ? { key: `address ${limitAddress(address)}`, isAnonymous: true }
    : { key: `user ${caller.user.id}`, isAnonymous: false };
}

/**
 * A git waits for its client while output is unread, and while the rest of a request's body is on its way. Over SSH the body
 * has no end: git waits there when it is silent too, which a git at work is not for long (`uploadpack.keepAlive`).
 */
export function toWatched(
  { stdin, stdout, stop }: GitProcess,
  { body, isConversation }: { readonly body: Readable; readonly isConversation?: boolean },
) {
  const bytesOf = (stream: unknown, name: "bytesRead" | "bytesWritten") =>
    stream instanceof Socket ? stream[name] : 0;
  let written = 0;
  let silentChecks = 0;
  return {
    /**
     * Returns for how many checks in a row the process may wait for the client, which it does now; undefined while it works.
     * Called once a check.
     */
    patience(): number | undefined {
      const now = bytesOf(stdout, "bytesRead");
      silentChecks = now === written ? silentChecks + 1 : 0;
      written = now;
      if (stdout.readableLength > 0) return STALLS_MAX;
      if (body.readableEnded || body.readableLength > 0) return undefined;
      if (isConversation !== true) return STALLS_MAX;
      return silentChecks >= SILENT_CHECKS ? PACKING_STALLS_MAX : undefined;
    },
    /** Stops the process. */
    stop,
    /** Returns the number of bytes that the process has written so far. */
    bytes: (): number => bytesOf(stdin, "bytesWritten") + bytesOf(stdout, "bytesRead"),
  };
}
