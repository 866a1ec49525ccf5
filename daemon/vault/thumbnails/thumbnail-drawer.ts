import { join } from "node:path";
import type { Readable } from "node:stream";
import { SpooledTooLarge, withSpooledFile } from "../../../storage/spool.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";
import { createProcessPool, type ScriptProgram } from "../../jobs/process-pool.ts";
import type { Drawing, DrawingInput } from "./drawing/draw.ts";

export type ThumbnailDrawer = ReturnType<typeof createThumbnailDrawer>;

/** Larger files are not drawn. */
export const SOURCE_BYTES_MAX = 64 * 1024 * 1024;
/** Processor time of one file. A photo takes a second, the first page of a PDF less. */
const BUDGET_MS = 15_000;
const IDLE_MS = 30_000;
const IDLE_BYTES_MAX = 320 * 1024 * 1024;
/** Files that wait, of all accounts. */
const WAITING_MAX = 200;
const RETRY_SECONDS = 5;

export const tooManyWait = (): AppError =>
  new AppError("unavailable", "Too many thumbnails wait. Try again in a moment.", {
    retryAfterSeconds: RETRY_SECONDS,
  });

/** Draws thumbnails of untrusted files in a separate process, one at a time, accounts in turn. */
export function createThumbnailDrawer({
  tmp,
  newId,
  program,
}: {
  /** A private folder for the files that the process reads. */
  readonly tmp: string;
  readonly newId: () => string;
  /** Runs the script of the process. */
  readonly program: ScriptProgram;
}) {
  const pool = createProcessPool<DrawingInput, Drawing>({
    scriptUrl: new URL("./drawing/drawing.process.ts", import.meta.url),
    program,
    queue: {
      lengthMax: WAITING_MAX,
      lengthPerCallerMax: WAITING_MAX,
      sizeMax: WAITING_MAX,
    },
    idleMs: IDLE_MS,
    idleBytesMax: IDLE_BYTES_MAX,
  });

  return {
    /**
     * Reads a stream to its end, destroys it in any case, and returns the thumbnail, or why there is none. Refuses with
     * `unavailable` when too many files wait. Throws errors of the stream.
     */
    async draw(content: Readable, caller: AccountId): Promise<Drawing> {
      const path = join(tmp, `draw-${newId()}`);
      const outcome = await withSpooledFile(
        content,
        path,
        () => pool.run({ path }, { budgetMs: BUDGET_MS, caller, size: 1 }),
        { bytesMax: SOURCE_BYTES_MAX },
      ).catch((error: unknown) => {
        if (error instanceof SpooledTooLarge) return { kind: "too_large" } as const;
        throw error;
      });
      switch (outcome.kind) {
        case "too_large":
          return { kind: "undrawable", reason: "too_large" };
        case "done":
          return outcome.value;
        case "timed_out":
          return { kind: "undrawable", reason: "timed_out" };
        case "out_of_memory":
          return { kind: "undrawable", reason: "too_complex" };
        case "queue_full":
          throw tooManyWait();
        case "not_started":
        case "failed":
          throw outcome.error;
      }
    },

    close: (): Promise<void> => pool.close(),
  };
}
