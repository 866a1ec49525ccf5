import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  type ActionRunner,
  updateRunner,
} from "../../../../storage/tables/forge/actions/runners.ts";
import {
  findLogChunk,
  insertLogChunk,
  updateTask,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import { RunnerRefusal } from "./registration.service.ts";
import { getOwnTask } from "./tasks.service.ts";

/** One line of a log. */
export interface LogLine {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly content: string;
}

/** Rows that a runner appends to a log. */
export interface LogRows {
  readonly taskId: number;
  /** Position of the first row, from 0. */
  readonly index: number;
  readonly rows: readonly LogLine[];
  readonly isEnd: boolean;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** Fast compression: a log arrives in many small pieces. */
const LEVEL = 1;
/** Appends of one task that come at a time are retried this often. */
const TRIES = 5;

/** Logs of tasks, kept in compressed chunks. */
export type Logs = ReturnType<typeof createLogs>;

export function createLogs({ db }: { readonly db: Database }) {
  return {
    /**
     * Appends rows and returns how many rows are stored. Rows that are stored already are skipped, rows after a gap are
     * not stored. Throws `RunnerRefusal` for the log of another runner, and for new rows of a log that has ended.
     */
    async append(runner: ActionRunner, { taskId, index, rows, isEnd }: LogRows): Promise<number> {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { logRows: stored, isLogSealed } = await getOwnTask(db, runner, taskId);
        const isGap = index > stored;
        const fresh = isGap ? [] : rows.slice(stored - index);
        if (isLogSealed) {
          if (fresh.length === 0 && !isGap) return stored;
          throw new RunnerRefusal(
            "rpc error: code = AlreadyExists desc = log file has been archived",
          );
        }
        if (fresh.length === 0 && (isGap || !isEnd)) return stored;
        // Compression has no place in a transaction.
        const content =
          fresh.length === 0 ? undefined : await compress(toText(fresh), { level: LEVEL });
        const acknowledged = await db.transaction(async (tx) => {
          const task = await getOwnTask(tx, runner, taskId);
          if (task.logRows !== stored || task.isLogSealed) return undefined;
          if (content !== undefined)
            await insertLogChunk(tx, {
              taskId,
              firstRow: stored,
              rowCount: fresh.length,
              content,
            });
          const logRows = stored + fresh.length;
          await updateTask(tx, taskId, { logRows, isLogSealed: isEnd, reportedAt: tx.now });
          await updateRunner(tx, runner.id, { lastActivityAt: tx.now, lastContactAt: tx.now });
          return logRows;
        });
        if (acknowledged !== undefined) return acknowledged;
      }
      throw new Error(`the log of task ${taskId} is appended to by several requests`);
    },

    /** Yields the text of a log from a row on, chunk by chunk: one line a row, each `time content`. */
    async *read(taskId: number, fromRow: number): AsyncGenerator<string> {
      let next = 0;
      for (;;) {
        const chunk = await findLogChunk(db, taskId, next);
        if (chunk === undefined) return;
        next = chunk.firstRow + chunk.rowCount;
        if (next <= fromRow) continue;
        const text = (await decompress(chunk.content)).toString("utf8");
        const skipped = Math.max(0, fromRow - chunk.firstRow);
        yield skipped === 0 ? text : text.split("\n").slice(skipped).join("\n");
      }
    },
  };
}

/** A row is one line: a line break within it would shift the positions of all later rows. */
function toText(rows: readonly LogLine[]): string {
  return rows
    .map(({ time, content }) => {
      const at = new Date(time).toISOString();
      return `${at} ${content.replaceAll(/\r?\n/g, " ")}\n`;
    })
    .join("");
}
