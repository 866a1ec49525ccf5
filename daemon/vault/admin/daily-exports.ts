import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { syncFolder } from "../../../storage/sync.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { findFirstAuditTime } from "../../../storage/tables/vault/audit.ts";
import { AppError } from "../../errors.ts";
import type { PageRequest } from "../page.ts";
import { toAuditCsv } from "./audit-csv.ts";

/**
 * Files with the audit records of one day each, in UTC: `audit-YYYY-MM-DD.csv`. Of several daemons on one database one
 * writes them by the clock, each in a folder of its own; the others write what is asked of them.
 */
export interface DailyExports {
  /**
   * Writes the files of all days that are over and have none, and removes those that are older than is kept. A file
   * appears when it is whole. Returns the days that were written.
   */
  writeMissing(signal: AbortSignal): Promise<readonly string[]>;
  /** One page of the files that there are, newest day first. */
  list(
    page: PageRequest,
  ): Promise<{ readonly exports: readonly DailyExport[]; readonly total: number }>;
  /** The file of a day, `YYYY-MM-DD`. Throws `not_found` when there is none. */
  open(day: string): Promise<OpenExport>;
}

/** The file of one day. */
export interface DailyExport {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly sizeBytes: number;
}

/** A file that is being read; it stays whole even when it is removed meanwhile. */
export interface OpenExport extends DailyExport {
  readonly modifiedAt: Date;
  /** Its bytes, or those from `start` to `end`, both included. */
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
  readonly keptDays: number;
}

const DAY_MS = 86_400_000;
/** How long after its end a day is asked for at the earliest: what was begun in it is in the database by then. */
const SETTLED_MS = 5 * 60_000;
const NAME = /^audit-(\d{4}-\d{2}-\d{2})\.csv$/;

export function createDailyExports(deps: DailyExportsDeps): DailyExports {
  const { db, clock, folder, temporaryFolder, keptDays } = deps;
  let begun = 0;
  let asked: Promise<unknown> | undefined;
  return {
    writeMissing: (signal) => writeMissing(clock(), signal),

    async list({ page, perPage }) {
      await writeSettled();
      const days = [...(await listDays(folder))].toSorted().toReversed();
      const exports: DailyExport[] = [];
      for (const day of days.slice((page - 1) * perPage, page * perPage)) {
        const found = await stat(join(folder, toFile(day))).catch(ignoreMissing);
        if (found !== undefined) exports.push({ day, sizeBytes: found.size });
      }
      return { exports, total: days.length };
    },

    async open(day) {
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

  /** Those who ask at one time wait for the same files. */
  function writeSettled(): Promise<unknown> {
    asked ??= writeMissing(clock() - SETTLED_MS).finally(() => {
      asked = undefined;
    });
    return asked;
  }

  async function writeMissing(now: number, signal?: AbortSignal): Promise<readonly string[]> {
    const today = Math.floor(now / DAY_MS);
    const oldest = today - keptDays;
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
    // A name of its own: the clock and somebody who asks may have the same day written at one time.
    const half = join(temporaryFolder, `${begun}-${toFile(toName(day))}`);
    try {
      const file = await open(half, "w", 0o600);
      try {
        for await (const lines of toAuditCsv(db, { from: day * DAY_MS, to: (day + 1) * DAY_MS })) {
          signal?.throwIfAborted();
          await file.write(lines);
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

/** The days that have a file, as `YYYY-MM-DD`. */
async function listDays(folder: string): Promise<ReadonlySet<string>> {
  const names = await readdir(folder);
  return new Set(names.flatMap((name) => NAME.exec(name)?.[1] ?? []));
}

function toName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Undefined for a file that is not there, any more or at all. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

const toFile = (day: string): string => `audit-${day}.csv`;
