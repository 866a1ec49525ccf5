import { join } from "node:path";
import type { Readable } from "node:stream";
import { SpooledTooLarge, withSpooledFile } from "../../../storage/spool.ts";
import { PostponedJobError } from "../../jobs/job-kind.ts";
import { createProcessorShares, type ProcessorShares } from "../../jobs/processor-shares.ts";
import { createProcessPool, type ScriptProgram } from "../../jobs/process-pool.ts";
import type { ExtractionInput } from "./extraction/extract.ts";
import { type Extraction, toBudgetMs } from "./extraction/outcome.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

export type TextExtractor = ReturnType<typeof createTextExtractor>;

/** Files larger than this are not read; the setting of a user may be lower. */
export const EXTRACT_BYTES_MAX = 100 * 1024 * 1024;

/**
 * Files whose text is recognized, or waits for that, at a time, each of another account; further ones are postponed. The jobs
 * of files hold slots, of which two remain for reading.
 */
const RECOGNIZED_AT_ONCE = 2;
/** Between two postponed files of an account, each of which is read again when its turn comes. */
const TURN_MS = 5_000;
const TURN_MAX_MS = 60 * 60_000;
/** What one account may use of text recognition at once, and the time in which that is whole again. */
const SHARE_MS = 20 * 60_000;
const SHARE_PERIOD_MS = 60 * 60_000;

/** Additional processor time for text recognition of one file. */
const RECOGNITION_BUDGET_MS = 180_000;
const IDLE_MS = 30_000;
/** Most files leave less than 200 MiB. */
const IDLE_BYTES_MAX = 320 * 1024 * 1024;
const WAITING_MAX = 64;

/** Extracts texts of untrusted files in separate processes. */
export function createTextExtractor({
  tmp,
  newId,
  program,
  recognizesText,
  clock,
  shares = createProcessorShares({ clock, shareMs: SHARE_MS, periodMs: SHARE_PERIOD_MS }),
}: {
  /** A private folder for the files that the process reads. */
  readonly tmp: string;
  readonly newId: () => string;
  /** Runs the script of the process. */
  readonly program: ScriptProgram;
  /** Whether text of pictures and scanned pages is recognized. */
  readonly recognizesText: boolean;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** What accounts may use of text recognition. */
  readonly shares?: ProcessorShares;
}) {
  const newPool = (onUsed?: ProcessorShares["book"]) =>
    createProcessPool<ExtractionInput, Extraction>({
      scriptUrl: new URL("./extraction/extraction.process.ts", import.meta.url),
      program,
      queue: { lengthMax: WAITING_MAX, lengthPerCallerMax: WAITING_MAX, sizeMax: WAITING_MAX },
      idleMs: IDLE_MS,
      idleBytesMax: IDLE_BYTES_MAX,
      ...(onUsed && { onUsed }),
    });
  const reading = newPool();
  // Recognition takes minutes where reading takes seconds: in one process, the scans of one user would keep the documents
  // of all others from being read.
  const recognition = newPool(shares.book);
  const recognizing = new Set<AccountId>();
  /** The last turn of each account that has postponed files. */
  const turns = new Map<AccountId, number>();

  const run = async (
    input: ExtractionInput,
    { budgetMs, userId, signal }: { budgetMs: number; userId: AccountId; signal: AbortSignal },
  ): Promise<Extraction> => {
    const outcome = await unlessAborted(signal, () =>
      (input.recognizes ? recognition : reading).run(input, { budgetMs, caller: userId, size: 1 }),
    );
    switch (outcome.kind) {
      case "done":
        return outcome.value;
      case "timed_out":
        return { kind: "unreadable", reason: "timed_out" };
      case "out_of_memory":
        return { kind: "unreadable", reason: "too_complex" };
      case "queue_full":
        throw new Error("the queue of text extraction is full");
      case "not_started":
      case "failed":
        throw outcome.error;
    }
  };

  /** Returns the milliseconds until the next turn of an account, and takes it. */
  function takeTurn(userId: AccountId): number {
    const now = clock();
    for (const [each, at] of turns) if (at <= now) turns.delete(each);
    const waitMs = Math.min(Math.max(turns.get(userId) ?? 0, now) + TURN_MS - now, TURN_MAX_MS);
    turns.set(userId, now + waitMs);
    return waitMs;
  }

  /** Waits for no turn that is far away: throws `PostponedJobError` instead. */
  async function recognize(
    file: Pick<ExtractionInput, "path" | "filename">,
    context: { userId: AccountId; signal: AbortSignal },
  ): Promise<Extraction> {
    const { userId } = context;
    const waitMs = shares.waitMs(userId);
    const isBusy = recognizing.has(userId) || recognizing.size >= RECOGNIZED_AT_ONCE;
    if (isBusy || waitMs > 0)
      throw new PostponedJobError(
        "text recognition waits for its turn",
        Math.max(waitMs, takeTurn(userId)),
      );
    recognizing.add(userId);
    try {
      return await run(
        { ...file, recognizes: true },
        { budgetMs: RECOGNITION_BUDGET_MS, ...context },
      );
    } finally {
      recognizing.delete(userId);
    }
  }

  return {
    /**
     * Reads a stream to its end, destroys it in any case, and returns its text, or why it has no text. A hostile file costs at most its budget of
     * time and memory. Throws errors of the stream, the reason of `signal` when it is aborted, and `PostponedJobError` while
     * text recognition has no turn for the owner.
     */
    async extract({
      content,
      filename,
      userId,
      signal,
    }: {
      readonly content: Readable;
      readonly filename: string;
      /** The owner of the file: users are served in round-robin order. */
      readonly userId: AccountId;
      readonly signal: AbortSignal;
    }): Promise<Extraction> {
      const path = join(tmp, `extract-${newId()}`);
      const read = async (size: number): Promise<Extraction> => {
        const file = { path, filename };
        const context = { userId, signal };
        const plain = await run(
          { ...file, recognizes: false },
          { budgetMs: toBudgetMs(size), ...context },
        );
        const missing = plain.kind === "text" ? plain.missing : plain.reason;
        if (missing !== "ocr_off" || !recognizesText) return plain;
        const recognized = await recognize(file, context);
        return recognized.kind === "text" || plain.kind !== "text" ? recognized : plain;
      };
      const bounds = { signal, bytesMax: EXTRACT_BYTES_MAX };
      return withSpooledFile(content, path, read, bounds).catch((error: unknown) => {
        if (error instanceof SpooledTooLarge)
          return { kind: "unreadable", reason: "too_large" } as const;
        throw error;
      });
    },

    async close(): Promise<void> {
      await Promise.all([reading.close(), recognition.close()]);
    },
  };
}

/** Resolves with the outcome, or rejects when the signal is aborted; the work itself ends with its own budget. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
