import type { Database, Transaction } from "../../../storage/engine/database.ts";

interface Waiting {
  readonly run: (tx: Transaction) => Promise<() => void>;
  readonly fail: (error: unknown) => void;
}

const GROUP_MAX = 64;

/**
 * Has changes that wait for the database at one time share a transaction, and so a commit: one at a time each would wait
 * for the disk alone. When one fails, each is tried in a transaction of its own, so none fails for another: `work` may
 * run twice and must do nothing but database calls.
 */
export function createGroupedWrites(
  db: Database,
): <T>(work: (tx: Transaction) => Promise<T>) => Promise<T> {
  const waiting: Waiting[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    isWriting = true;
    for (let group = waiting.splice(0, GROUP_MAX); group.length > 0;) {
      if (!(await writeTogether(group))) for (const one of group) await writeAlone(one);
      group = waiting.splice(0, GROUP_MAX);
    }
    isWriting = false;
  }

  /** Whether all of a group is written. One alone is not tried here. */
  async function writeTogether(group: readonly Waiting[]): Promise<boolean> {
    if (group.length === 1) return false;
    try {
      const settle = await db.transaction(async (tx) => {
        const settled: (() => void)[] = [];
        for (const { run } of group) settled.push(await run(tx));
        return settled;
      });
      for (const tell of settle) tell();
      return true;
    } catch {
      // Whoever is at fault is told when it fails alone.
      return false;
    }
  }

  async function writeAlone({ run, fail }: Waiting): Promise<void> {
    try {
      (await db.transaction(run))();
    } catch (error) {
      fail(error);
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      waiting.push({
        run: async (tx) => {
          const value = await work(tx);
          return () => resolve(value);
        },
        fail: reject,
      });
      if (!isWriting) void writeAll();
    });
}
