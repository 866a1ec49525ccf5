import type { Transaction } from "../../storage/engine/database.ts";
import {
  claimJobs,
  type JobRecord,
  listWaitingAccounts,
} from "../../storage/tables/common/jobs.ts";

export type Turns = ReturnType<typeof createTurns>;

/** Accounts whose last turn is remembered; the others count as never served. */
const REMEMBERED_MAX = 10_000;

/** The order in which accounts are served, of one kind of job. */
export function createTurns() {
  /** The number of the last turn of each account. */
  const served = new Map<string, number>();
  let turn = 0;

  function serve(account: string): void {
    turn += 1;
    served.delete(account);
    served.set(account, turn);
    const [oldest] = served.keys();
    if (served.size > REMEMBERED_MAX && oldest !== undefined) served.delete(oldest);
  }

  return {
    /**
     * Claims up to `limit` due jobs. Accounts with fewer running jobs come first, then those whose last turn is longest ago.
     * No account gets the last free one of several slots while it has all others: the next job of another account waits for
     * none of them.
     */
    async claim(
      tx: Transaction,
      {
        limit,
        concurrency,
        perAccountMax,
        running,
        ...claim
      }: {
        readonly kind: string;
        readonly owner: string;
        readonly leasedUntil: number;
        readonly limit: number;
        readonly concurrency: number;
        /** Maximum number of running jobs of one account, if that is less than all slots but one. */
        readonly perAccountMax: number;
        /** The account of each running job. */
        readonly running: readonly string[];
      },
    ): Promise<JobRecord[]> {
      const uses = new Map<string, number>();
      const usesOf = (account: string) => uses.get(account) ?? 0;
      for (const account of running) uses.set(account, usesOf(account) + 1);
      const ownMax = Math.min(perAccountMax, Math.max(1, concurrency - 1));
      let waiting = await listWaitingAccounts(tx, claim.kind);
      const claimed: JobRecord[] = [];
      while (claimed.length < limit) {
        const account = findNext(waiting);
        if (account === undefined) break;
        const jobs = await claimJobs(tx, { ...claim, account, limit: 1 });
        if (jobs.length === 0) {
          // Its jobs are not due, or others of their keys run.
          waiting = waiting.filter((each) => each !== account);
          continue;
        }
        claimed.push(...jobs);
        uses.set(account, usesOf(account) + 1);
        serve(account);
      }
      return claimed;

      function findNext(accounts: readonly string[]): string | undefined {
        let next: string | undefined;
        for (const account of accounts) {
          if (usesOf(account) >= ownMax) continue;
          if (next === undefined || isBefore(account, next)) next = account;
        }
        return next;
      }

      function isBefore(a: string, b: string): boolean {
        const difference = usesOf(a) - usesOf(b);
        if (difference !== 0) return difference < 0;
        return (served.get(a) ?? 0) < (served.get(b) ?? 0);
      }
    },
  };
}
