import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import {
  type AuditRecord,
  findFirstAuditTime,
  listAuditBetween,
} from "../../../storage/tables/vault/audit.ts";
import { auditCsvHead, toAuditCsvLine } from "./audit-csv.ts";

/** Files with the audit records of one day each, in UTC: `audit-YYYY-MM-DD.csv`. */
export interface DailyExports {
  /**
   * Writes the files of all days that are over and have none, and removes those that are older than is kept. A file
   * appears when it is whole. Returns the days that were written.
   */
  writeMissing(signal: AbortSignal): Promise<readonly string[]>;
}

export interface DailyExportsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly folder: string;
  /** On the same file system. */
  readonly temporaryFolder: string;
  readonly keptDays: number;
}

const DAY_MS = 86_400_000;
const BATCH = 1_000;
const NAME = /^audit-(\d{4}-\d{2}-\d{2})\.csv$/;

export function createDailyExports(deps: DailyExportsDeps): DailyExports {
  const { db, clock, folder, temporaryFolder, keptDays } = deps;
  return {
    async writeMissing(signal) {
      const today = Math.floor(clock() / DAY_MS);
      const oldest = today - keptDays;
      const present = await listDays(folder);
      for (const day of present)
        if (day < toName(oldest)) await rm(join(folder, toFile(day)), { force: true });
      const firstTime = await findFirstAuditTime(db);
      const first = firstTime === undefined ? today - 1 : Math.floor(firstTime / DAY_MS);
      const written: string[] = [];
      for (let day = Math.max(oldest, Math.min(first, today - 1)); day < today; day += 1) {
        if (present.has(toName(day))) continue;
        signal.throwIfAborted();
        await writeDay(day, signal);
        written.push(toName(day));
      }
      return written;
    },
  };

  async function writeDay(day: number, signal: AbortSignal): Promise<void> {
    const half = join(temporaryFolder, toFile(toName(day)));
    const file = await open(half, "w", 0o600);
    try {
      await file.write(auditCsvHead);
      const stretch = { from: day * DAY_MS, to: (day + 1) * DAY_MS };
      let last: AuditRecord | undefined;
      do {
        signal.throwIfAborted();
        const records = await listAuditBetween(db, stretch, last, BATCH);
        last = records.at(-1);
        if (last !== undefined) await file.write(records.map(toAuditCsvLine).join(""));
      } while (last !== undefined);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(half, join(folder, toFile(toName(day))));
    await syncFolder(folder);
  }
}

/** The days that have a file, as `YYYY-MM-DD`. */
async function listDays(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder);
  return new Set(names.flatMap((name) => NAME.exec(name)?.[1] ?? []));
}

function toName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

const toFile = (day: string): string => `audit-${day}.csv`;

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
