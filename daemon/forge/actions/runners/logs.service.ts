import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  type ActionRunner,
  updateRunner,
} from "../../../../storage/tables/forge/actions/runners.ts";
import {
  type ActionTask,
  findLogChunk,
  findTaskOwner,
  insertLogChunk,
  updateTask,
} from "../../../../storage/tables/forge/actions/tasks.ts";
import type { Masks } from "../secrets/masks.service.ts";
import { RunnerRefusal } from "./registration.service.ts";
import { getOwnTask } from "./tasks.service.ts";
import type { TaskId } from "../../../../storage/tables/forge/ids.ts";

/** One line of a log. */
export interface LogLine {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly content: string;
}

/** The rows of a log that are read. */
export interface LogRange {
  /** Position of the first row, from 0. */
  readonly from: number;
  /** Maximum number of rows. */
  readonly count: number;
}

/** Rows that a runner appends to a log. */
export interface LogRows {
  readonly taskId: TaskId;
  /** Position of the first row, from 0. */
  readonly index: number;
  readonly rows: readonly LogLine[];
  readonly isEnd: boolean;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** Fast compression: a log arrives in many small pieces. */
const LEVEL = 1;
/** Longest row, and most bytes of one log. Later rows are counted and stored empty. */
const ROW_CHARACTERS_MAX = 256 * 1024;
const LOG_BYTES_MAX = 512 * 1024 * 1024;
/** Maximum number of attempts of an append that conflicts with another one of the same task. */
const TRIES = 5;

/** Logs of tasks, kept in compressed chunks. */
export type Logs = ReturnType<typeof createLogs>;

export function createLogs({
  db,
  masks,
}: {
  readonly db: Database;
  readonly masks: Pick<Masks, "mask">;
}) {
  return {
    /**
     * Appends rows and returns how many rows are stored. Skips rows that are stored already, and rows after a gap.
     * Throws `RunnerRefusal` for the log of another runner, and for new rows of a log that has ended.
     */
    async append(runner: ActionRunner, { taskId, index, rows, isEnd }: LogRows): Promise<number> {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { logRows: stored, isLogSealed, ...log } = await getOwnTask(db, runner, taskId);
        const isGap = index > stored;
        const newRows = isGap ? [] : rows.slice(stored - index);
        if (isLogSealed) {
          if (newRows.length === 0 && !isGap) return stored;
          throw new RunnerRefusal(
            "rpc error: code = AlreadyExists desc = log file has been archived",
          );
        }
        if (newRows.length === 0 && (isGap || !isEnd)) return stored;
        const { text, sealedMasks } = await toMaskedText({ ...log, taskId }, newRows);
        // Compresses outside of the transaction, which must be short.
        const content = text === "" ? undefined : await compress(text, { level: LEVEL });
        const acknowledged = await db.transaction(async (tx) => {
          const task = await getOwnTask(tx, runner, taskId);
          const isSame = task.logRows === stored && task.sealedMasks === log.sealedMasks;
          if (!isSame || task.isLogSealed) return undefined;
          if (content !== undefined)
            await insertLogChunk(tx, {
              taskId,
              firstRow: stored,
              rowCount: newRows.length,
              content,
            });
          const logRows = stored + newRows.length;
          await updateTask(tx, taskId, {
            logRows,
            logBytes: log.logBytes + Buffer.byteLength(text),
            isLogSealed: isEnd,
            reportedAt: tx.now,
            ...(sealedMasks === undefined ? {} : { sealedMasks }),
          });
          await updateRunner(tx, runner.id, { lastActivityAt: tx.now, lastContactAt: tx.now });
          return logRows;
        });
        if (acknowledged !== undefined) return acknowledged;
      }
      throw new Error(`the log of task ${taskId} is appended to by several requests`);
    },

    /** Yields the text of a log chunk by chunk: one line a row, each `time content`. At most one chunk is in memory. */
    async *read(taskId: TaskId, { from, count }: LogRange): AsyncGenerator<string> {
      const end = from + count;
      for (let next = from; next < end;) {
        const chunk = await findLogChunk(db, taskId, next);
        if (chunk === undefined) return;
        const text = (await decompress(chunk.content)).toString("utf8");
        const last = chunk.firstRow + chunk.rowCount;
        const isWhole = next === chunk.firstRow && last <= end;
        yield isWhole ? text : cutRows(text, next - chunk.firstRow, end - chunk.firstRow);
        next = last;
      }
    },
  };

  /** Returns rows as they are stored: one line each, masked and cut, empty once the log is full. */
  async function toMaskedText(
    log: Pick<ActionTask, "logBytes" | "sealedMasks"> & { readonly taskId: TaskId },
    newRows: readonly LogLine[],
  ): Promise<{ readonly text: string; readonly sealedMasks: string | undefined }> {
    if (newRows.length === 0) return { text: "", sealedMasks: undefined };
    // A row is one line: a line break within it would shift the positions of all later rows. Shown as Gitea does.
    const contents = newRows.map(({ content }) => content.replaceAll(/\r?\n/g, "\\n"));
    const ownerId = await findTaskOwner(db, log.taskId);
    if (ownerId === undefined) throw new RunnerRefusal("update log: the job has been deleted");
    const masked = await masks.mask({ ...log, ownerId }, contents);
    const { sealedMasks } = masked;
    if (log.logBytes > LOG_BYTES_MAX) return { text: "\n".repeat(newRows.length), sealedMasks };
    const text = masked.rows.map((row, index) => toLine(newRows[index]?.time ?? 0, row)).join("");
    return { text, sealedMasks };
  }
}

function toLine(time: number, content: string): string {
  const text =
    content.length > ROW_CHARACTERS_MAX
      ? `${content.slice(0, ROW_CHARACTERS_MAX)} (cut after ${ROW_CHARACTERS_MAX} characters)`
      : content;
  return `${new Date(time).toISOString()} ${text}\n`;
}

/** Returns the rows of a text from one position up to another, which is left out. */
function cutRows(text: string, from: number, to: number): string {
  let start = 0;
  let end = 0;
  for (let row = 0; row < to && end < text.length; row += 1) {
    if (row === from) start = end;
    end = text.indexOf("\n", end) + 1;
  }
  return text.slice(start, end);
}
