import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { syncFolder } from "../../../storage/sync.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { findFirstAuditTime } from "../../../storage/tables/vault/audit.ts";
import { AppError } from "../../errors.ts";
import type { PageRequest } from "../page.ts";
import { toAuditCsv } from "./audit-csv.ts";

export type DailyExports = ReturnType<typeof createDailyExports>;

/** The file of one day. */
export interface DailyExport {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly sizeBytes: number;
}

/** An open file; it stays readable when it is deleted. */
export interface OpenExport extends DailyExport {
  readonly modifiedAt: Date;
  /** Reads the bytes, or those from `start` to `end`, both included. */
  read(range?: { readonly start: number; readonly end: number }): Readable;
  close(): Promise<void>;
}

export interface DailyExportsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly folder: string;
  /** On the same file system. */
  readonly temporaryFolder: string;
  readonly retentionDays: number;
}

const DAY_MS = 86_400_000;
/** Delay after the end of a day before its export: transactions of that day are committed by then. */
const SETTLED_MS = 5 * 60_000;
const NAME = /^audit-(\d{4}-\d{2}-\d{2})\.csv$/;

/**
 * Files with the audit records of one day (UTC) each: `audit-YYYY-MM-DD.csv`. Each daemon has a folder of its own. Of
 * several daemons on one database, one writes the files on schedule; the others write them on request.
 */
export function createDailyExports(deps: DailyExportsDeps) {
  const { db, clock, folder, temporaryFolder, retentionDays } = deps;
  let begun = 0;
  let pendingWrite: Promise<unknown> | undefined;
  return {
    /**
     * Writes the missing files of past days atomically, and deletes files beyond the retention. Returns the written days.
     */
    writeMissing: (signal: AbortSignal): Promise<readonly string[]> =>
      writeMissing(clock(), signal),

    /** Returns one page of the existing files, newest day first. */
    async list({
      page,
      perPage,
    }: PageRequest): Promise<{ readonly exports: readonly DailyExport[]; readonly total: number }> {
      await writeSettled();
      const days = [...(await listDays(folder))].toSorted().toReversed();
      const exports: DailyExport[] = [];
      for (const day of days.slice((page - 1) * perPage, page * perPage)) {
        const found = await stat(join(folder, toFile(day))).catch(ignoreMissing);
        if (found !== undefined) exports.push({ day, sizeBytes: found.size });
      }
      return { exports, total: days.length };
    },

    /** Opens the file of a day, `YYYY-MM-DD`. Throws `not_found` when it is missing. */
    async open(day: string): Promise<OpenExport> {
      const isDay = NAME.test(toFile(day));
      const openDay = () => open(join(folder, toFile(day))).catch(ignoreMissing);
      let file = isDay ? await openDay() : undefined;
      if (isDay && file === undefined) {
        await writeSettled();
        file = await openDay();
      }
      if (file === undefined) throw new AppError("not_found", "There is no export of this day");
      const { size, mtime } = await file.stat().catch(async (error: unknown) => {
        await file.close();
        throw error;
      });
      return {
        day,
        sizeBytes: size,
        modifiedAt: mtime,
        read(range) {
          const stream = file.createReadStream({ ...range, autoClose: false });
          // The caller may destroy it before anything listens; a late error must not end the process.
          stream.on("error", () => undefined);
          return stream;
        },
        close: () => file.close(),
      };
    },
  };

  /** Concurrent requests share one write. */
  function writeSettled(): Promise<unknown> {
    pendingWrite ??= writeMissing(clock() - SETTLED_MS).finally(() => {
      pendingWrite = undefined;
    });
    return pendingWrite;
  }

  async function writeMissing(now: number, signal?: AbortSignal): Promise<readonly string[]> {
    const today = Math.floor(now / DAY_MS);
    const oldest = today - retentionDays;
    const present = await listDays(folder);
    for (const day of present)
      if (day < toName(oldest)) await rm(join(folder, toFile(day)), { force: true });
    const firstTime = await findFirstAuditTime(db);
    const first = firstTime === undefined ? today - 1 : Math.floor(firstTime / DAY_MS);
    const written: string[] = [];
    for (let day = Math.max(oldest, Math.min(first, today - 1)); day < today; day += 1) {
      if (present.has(toName(day))) continue;
      signal?.throwIfAborted();
      await writeDay(day, signal);
      written.push(toName(day));
    }
    return written;
  }

  async function writeDay(day: number, signal: AbortSignal | undefined): Promise<void> {
    begun += 1;
    // A unique name, because the schedule and a request may write the same day at once.
    const half = join(temporaryFolder, `${begun}-${toFile(toName(day))}`);
    try {
      const file = await open(half, "w", 0o600);
      try {
        for await (const lines of toAuditCsv(db, { from: day * DAY_MS, to: (day + 1) * DAY_MS })) {
          signal?.throwIfAborted();
          // Writes all of it: one system call may write a part where the disk is nearly full.
          await file.appendFile(lines);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(half, join(folder, toFile(toName(day))));
    } finally {
      await rm(half, { force: true });
    }
    await syncFolder(folder);
  }
}

/** Returns the days that have a file, as `YYYY-MM-DD`. */
async function listDays(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder);
  return new Set(names.flatMap((name) => NAME.exec(name)?.[1] ?? []));
}

function toName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Returns undefined for a missing file and rethrows other errors. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

const toFile = (day: string): string => `audit-${day}.csv`;
