/** A bounded queue that serves its callers round robin, so that one caller's backlog does not delay another caller's first item. */
export interface FairQueue<T> {
  /** Returns how many of the waiting callers `mayStart` accepts. */
  countCallers(mayStart: (caller: string) => boolean): number;
  /** Appends an item of a caller. Returns false, and keeps nothing, when a bound would be exceeded. */
  push(entry: FairQueueEntry<T>): boolean;
  /** Removes the oldest item of the next caller that `mayStart` accepts; undefined without such an item. */
  shift(mayStart: (caller: string) => boolean): FairQueueEntry<T> | undefined;
  /** Removes all items. */
  clear(): FairQueueEntry<T>[];
}

export interface FairQueueEntry<T> {
  readonly caller: string;
  /** Memory that the item holds while it waits, in bytes or characters; see `sizeMax`. */
  readonly size: number;
  readonly item: T;
}

export interface FairQueueBounds {
  /** Maximum number of waiting items. */
  readonly lengthMax: number;
  /** Maximum number of waiting items of one caller. */
  readonly lengthPerCallerMax: number;
  /** Maximum sum of the sizes of waiting items. */
  readonly sizeMax: number;
}

/** Creates an empty queue. `push` and `shift` take time in proportion to the number of waiting callers. */
export function createFairQueue<T>(bounds: FairQueueBounds): FairQueue<T> {
  // A Map keeps the order of insertion: a caller that was served is inserted again behind the others.
  const waiting = new Map<string, FairQueueEntry<T>[]>();
  let length = 0;
  let size = 0;

  return {
    countCallers: (mayStart) => [...waiting.keys()].filter(mayStart).length,
    push(entry) {
      const own = waiting.get(entry.caller) ?? [];
      const isFull =
        length >= bounds.lengthMax ||
        own.length >= bounds.lengthPerCallerMax ||
        size + entry.size > bounds.sizeMax;
      if (isFull) return false;
      own.push(entry);
      waiting.set(entry.caller, own);
      length += 1;
      size += entry.size;
      return true;
    },
    shift(mayStart) {
      for (const [caller, own] of waiting) {
        if (!mayStart(caller)) continue;
        const entry = own.shift();
        waiting.delete(caller);
        if (own.length > 0) waiting.set(caller, own);
        if (entry === undefined) continue;
        length -= 1;
        size -= entry.size;
        return entry;
      }
      return undefined;
    },
    clear() {
      const entries = [...waiting.values()].flat();
      waiting.clear();
      length = 0;
      size = 0;
      return entries;
    },
  };
}
