import type { Sleep } from "../retry.ts";

/** A row of a log as it is sent. */
export interface LogRow {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly content: string;
}

/** Sends the rows of one log in order. Rows are kept until the daemon has acknowledged them. */
export type LogSender = ReturnType<typeof createLogSender>;

export interface LogSenderDeps {
  /** Sends rows from a position on, with retries. Resolves with the number of rows that the daemon has. */
  readonly send: (index: number, rows: readonly LogRow[], isEnd: boolean) => Promise<number>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly sleep: Sleep;
  /** Called once when the daemon does not take the log any more; later rows are dropped. */
  readonly onLost: (error: unknown) => void;
}

/** How long rows are collected before they are sent. */
const COLLECT_MS = 150;
/** Maximum rows and characters of one request. */
const BATCH_ROWS = 2_000;
const BATCH_CHARACTERS = 2 * 1024 * 1024;
/** Size of a row in addition to its characters: rows may be empty. */
const ROW_COST = 64;
/** Characters that may wait. */
const WAITING_CHARACTERS_MAX = 8 * 1024 * 1024;

export function createLogSender({ send, clock, sleep, onLost }: LogSenderDeps) {
  let rows: LogRow[] = [];
  let acknowledged = 0;
  let length = 0;
  let waiting = 0;
  let isLost = false;
  let isSealed = false;
  let sending: Promise<void> | undefined;
  const ending = new AbortController();
  const drains = new Set<() => void>();

  return {
    add(content: string) {
      if (isLost || ending.signal.aborted) return;
      rows.push({ time: clock(), content });
      length += 1;
      waiting += content.length + ROW_COST;
      sending ??= pump();
    },
    /** Rows that have been added. */
    get length() {
      return length;
    },
    /** Whether so many rows wait to be sent that their producer must pause. */
    get isFull() {
      return waiting > WAITING_CHARACTERS_MAX;
    },
    /** Resolves when `isFull` is false, also because the log is lost. */
    drained: (): Promise<void> => new Promise((resolve) => void drains.add(resolve)),
    /** Sends the remaining rows and seals the log. */
    async end() {
      ending.abort();
      await sending;
      if (!isLost && !isSealed) await deliver([], true);
    },
  };

  async function pump(): Promise<void> {
    while (rows.length > 0 && !isLost) {
      // The end of the log ends the wait.
      if (!ending.signal.aborted && waiting < BATCH_CHARACTERS)
        await sleep(COLLECT_MS, ending.signal).catch(() => undefined);
      const batch = takeBatch();
      await deliver(batch, ending.signal.aborted && batch.length === rows.length);
    }
    sending = undefined;
  }

  function takeBatch(): readonly LogRow[] {
    let characters = 0;
    const count = rows.slice(0, BATCH_ROWS).findIndex(({ content }, index) => {
      characters += content.length;
      return characters > BATCH_CHARACTERS && index > 0;
    });
    return rows.slice(0, count === -1 ? BATCH_ROWS : count);
  }

  async function deliver(batch: readonly LogRow[], isEnd: boolean): Promise<void> {
    try {
      const stored = await send(acknowledged, batch, isEnd);
      const fresh = stored - acknowledged;
      if (fresh < 0 || fresh > rows.length)
        throw new Error(`the daemon has ${stored} rows of the log, not ${acknowledged} or more`);
      // Sent again, they would be sent for ever.
      if (fresh === 0 && batch.length > 0)
        throw new Error(`the daemon keeps no rows of the log after ${stored}`);
      for (const { content } of rows.slice(0, fresh)) waiting -= content.length + ROW_COST;
      rows = rows.slice(fresh);
      acknowledged = stored;
      isSealed = isEnd && rows.length === 0;
    } catch (error) {
      isLost = true;
      rows = [];
      waiting = 0;
      onLost(error);
    }
    if (waiting > WAITING_CHARACTERS_MAX) return;
    for (const resolve of drains) resolve();
    drains.clear();
  }
}
