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

/** A semaphore with limits per client and a bounded queue. Some slots are reserved for accounts. */
export interface TransferLimiter {
  /**
   * Acquires a slot and returns the function that releases it, which is idempotent. Refuses with `unavailable` when the
   * queue is full. Rejects with the reason of the signal when it is aborted while waiting.
   */
  acquire(client: TransferClient, signal: AbortSignal): Promise<() => void>;
}

interface Waiting {
  readonly client: Client;
  readonly begin: () => void;
}

interface Client {
  readonly key: string;
  readonly isAnonymous: boolean;
}

export function createTransferLimiter(limits: TransferLimits): TransferLimiter {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let total = 0;
  let anonymous = 0;

  const isFree = ({ key, isAnonymous }: Client) =>
    total < limits.atOnce &&
    (running.get(key) ?? 0) < limits.perClient &&
    (!isAnonymous || anonymous < limits.anonymous);

  const begin = ({ key, isAnonymous }: Client): (() => void) => {
    const count = (change: 1 | -1) => {
      total += change;
      if (isAnonymous) anonymous += change;
      const own = (running.get(key) ?? 0) + change;
      if (own === 0) running.delete(key);
      else running.set(key, own);
    };
    count(1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      count(-1);
      next();
    };
  };

  const next = () => {
    const index = waiting.findIndex(({ client }) => isFree(client));
    if (index !== -1) waiting.splice(index, 1)[0]?.begin();
  };

  const isQueueFull = ({ key }: Client) =>
    waiting.length >= limits.waiting ||
    waiting.filter(({ client }) => client.key === key).length >= limits.waitingPerClient;

  return {
    async acquire(asking, signal) {
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
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const waiter: Waiting = { client, begin: () => resolve(begin(client)) };
      const giveUp = () => {
        const index = waiting.indexOf(waiter);
        if (index !== -1) waiting.splice(index, 1);
        reject(signal.reason);
      };
      waiting.push(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
      return promise.finally(() => signal.removeEventListener("abort", giveUp));
    },
  };
}

/** All addresses of an IPv6 network count as one client. */
function toClient({ caller, address }: TransferClient): Client {
  return caller === undefined
    ? { key: `address ${limitAddress(address)}`, isAnonymous: true }
    : { key: `user ${caller.user.id}`, isAnonymous: false };
}
