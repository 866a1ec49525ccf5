/** A running or queued download or upload. */
export interface Transfer {
  readonly name: string;
  readonly kind: "download" | "upload";
  readonly done: number;
  /** In bytes; undefined when it is unknown. */
  readonly total: number | undefined;
  /** Epoch milliseconds; undefined while it waits. */
  readonly startedAt: number | undefined;
}

/** Progress callbacks of a transfer. */
export interface TransferReport {
  total(bytes: number | undefined): void;
  done(bytes: number): void;
}

export type Transfers = ReturnType<typeof createTransfers>;

/** Concurrent transfers; more would only slow each of them down. */
const atOnce = 3;

/** Minimum time between frames, for slow terminals. */
const frameMs = 100;

export interface TransfersDeps {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly pause: (milliseconds: number) => Promise<void>;
  /** Called when there is something else to show. */
  readonly notify: () => void;
}

export function createTransfers({ clock, pause, notify }: TransfersDeps) {
  let list: readonly Entry[] = [];
  let stopping = new AbortController();
  let isAnnouncing = false;
  const underWay = new Set<Promise<unknown>>();

  return {
    get list() {
      return list;
    },
    /** Queues `work` and resolves with its result. */
    run<T>(
      kind: Transfer["kind"],
      name: string,
      work: (report: TransferReport, signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
      const entry: Entry = { name, kind, done: 0, total: undefined, startedAt: undefined, begin };
      list = [...list, entry];
      const running = runEntry(entry, turn, work).finally(() => underWay.delete(running));
      underWay.add(running);
      next();
      return running;
    },
    /** Stops all transfers; resolves when they have cleaned up. */
    async stop() {
      stopping.abort(new Error("the transfer was stopped"));
      stopping = new AbortController();
      for (const { begin } of list) begin();
      await Promise.allSettled(underWay);
    },
  };

  async function runEntry<T>(
    entry: Entry,
    turn: Promise<void>,
    work: (report: TransferReport, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal } = stopping;
    const report = {
      total: (bytes: number | undefined) => change(entry, { total: bytes }),
      done: (bytes: number) => change(entry, { done: bytes }),
    };
    await turn;
    try {
      signal.throwIfAborted();
      return await work(report, signal);
    } catch (error) {
      // After a stop, every failure is a consequence of it.
      throw signal.aborted ? signal.reason : error;
    } finally {
      list = list.filter(({ begin }) => begin !== entry.begin);
      next();
    }
  }

  function next(): void {
    const running = list.filter(({ startedAt }) => startedAt !== undefined).length;
    for (const entry of list
      .filter(({ startedAt }) => startedAt === undefined)
      .slice(0, Math.max(0, atOnce - running))) {
      change(entry, { startedAt: clock() });
      entry.begin();
    }
    notify();
  }

  function change(entry: Entry, changes: Partial<Transfer>): void {
    list = list.map((one) => (one.begin === entry.begin ? { ...one, ...changes } : one));
    if (isAnnouncing) return;
    isAnnouncing = true;
    void pause(frameMs).then(() => {
      isAnnouncing = false;
      notify();
    });
  }
}

interface Entry extends Transfer {
  /** Also identifies the entry. */
  readonly begin: () => void;
}
