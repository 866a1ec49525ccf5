export type PushOutcome<T> =
  /** `displaced` items of other callers were removed to make room. */
  | { readonly kind: "queued"; readonly displaced: readonly FairQueueEntry<T>[] }
  /** The item would exceed a bound, and no other caller has more waiting items. */
  | { readonly kind: "full" };

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

type Measure = "length" | "size";

/**
 * Creates a bounded, fair queue. `push` and `shift` take time in proportion to the number of waiting callers. It serves callers round robin. When it is full, a caller with few waiting items displaces the newest items of
 * the caller with the most.
 * @param groupOf returns the group of a caller. A full queue is shared between groups first, because one client can
 * have very many caller names. By default each caller is its own group.
 */
export function createFairQueue<T>(
  bounds: FairQueueBounds,
  groupOf: (caller: string) => string = (caller) => caller,
) {
  // A Map keeps the order of insertion: a caller that was served is inserted again behind the others.
  let waiting = new Map<string, FairQueueEntry<T>[]>();
  let length = 0;
  let size = 0;

  const append = (entry: FairQueueEntry<T>) => {
    const own = waiting.get(entry.caller);
    if (own === undefined) waiting.set(entry.caller, [entry]);
    else own.push(entry);
    length += 1;
    size += entry.size;
  };

  const removeNewest = (caller: string): FairQueueEntry<T> | undefined => {
    const own = waiting.get(caller);
    const entry = own?.pop();
    if (own?.length === 0) waiting.delete(caller);
    if (entry === undefined) return undefined;
    length -= 1;
    size -= entry.size;
    return entry;
  };

  const exceeded = (entry: FairQueueEntry<T>): Measure | undefined => {
    if (size + entry.size > bounds.sizeMax) return "size";
    return length >= bounds.lengthMax ? "length" : undefined;
  };

  /**
   * Returns the caller with the most waiting items, if it has more than the caller of `entry` would have. Compares
   * groups first.
   */
  const findLargest = (entry: FairQueueEntry<T>, measure: Measure): string | undefined => {
    const callers = new Map<string, number>();
    const groups = new Map<string, number>();
    for (const [caller, entries] of waiting) {
      const used = measure === "length" ? entries.length : sumSizes(entries);
      callers.set(caller, used);
      groups.set(groupOf(caller), (groups.get(groupOf(caller)) ?? 0) + used);
    }
    const more = measure === "length" ? 1 : entry.size;
    const ownGroup = groupOf(entry.caller);
    const [group, groupUses] = findMaximum(groups);
    if (group !== ownGroup && groupUses <= (groups.get(ownGroup) ?? 0) + more) return undefined;
    const members = [...callers].filter(([caller]) => groupOf(caller) === group);
    const [caller, uses] = findMaximum(members);
    const isOwn = group === ownGroup;
    return isOwn && uses <= (callers.get(entry.caller) ?? 0) + more ? undefined : caller;
  };

  return {
    /** Returns how many of the waiting callers `mayStart` accepts. */
    countCallers: (mayStart: (caller: string) => boolean): number =>
      [...waiting.keys()].filter(mayStart).length,
    /** Appends an item of a caller; a refused one changes nothing. */
    push(entry: FairQueueEntry<T>): PushOutcome<T> {
      if ((waiting.get(entry.caller)?.length ?? 0) >= bounds.lengthPerCallerMax)
        return { kind: "full" };
      if (exceeded(entry) === undefined) {
        append(entry);
        return { kind: "queued", displaced: [] };
      }
      const copies = [...waiting].map(([caller, own]): [string, FairQueueEntry<T>[]] => [
        caller,
        [...own],
      ]);
      const before = { waiting: new Map(copies), length, size };
      const displaced: FairQueueEntry<T>[] = [];
      for (let by = exceeded(entry); by !== undefined; by = exceeded(entry)) {
        const largest = findLargest(entry, by);
        const removed = largest === undefined ? undefined : removeNewest(largest);
        if (removed === undefined) {
          ({ waiting, length, size } = before);
          return { kind: "full" };
        }
        displaced.push(removed);
      }
      append(entry);
      return { kind: "queued", displaced };
    },
    /** Removes the oldest item of the next caller that `mayStart` accepts; undefined without such an item. */
    shift(mayStart: (caller: string) => boolean): FairQueueEntry<T> | undefined {
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
    /** Removes all items. */
    clear(): FairQueueEntry<T>[] {
      const entries = [...waiting.values()].flat();
      waiting.clear();
      length = 0;
      size = 0;
      return entries;
    },
  };
}

function sumSizes(entries: readonly FairQueueEntry<unknown>[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}

function findMaximum(uses: Iterable<readonly [string, number]>): readonly [string, number] {
  let found: readonly [string, number] = ["", 0];
  for (const entry of uses) if (entry[1] > found[1]) found = entry;
  return found;
}
