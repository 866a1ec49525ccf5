import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createThreadPool } from "../../jobs/thread-pool.ts";
import type { ExtractionInput } from "./extraction/extract.ts";
import type { Extraction } from "./extraction/outcome.ts";

/** Extracts texts of untrusted files in worker threads. */
export interface TextExtractor {
  /**
   * Reads a stream to its end and returns its text, or why it has no text. A hostile file costs at most its budget of
   * time and memory. Throws what the stream throws.
   */
  extract(file: {
    readonly content: Readable;
    readonly filename: string;
    /** Whose file: threads are shared fairly between users. */
    readonly userId: string;
  }): Promise<Extraction>;
  close(): Promise<void>;
}

/** Files larger than this are not read; the setting of a user may be lower. */
export const EXTRACT_BYTES_MAX = 100 * 1024 * 1024;

/** Processor time of one file. */
const BUDGET_MS = 60_000;
/** Processor time of text recognition of one file, besides. */
const RECOGNITION_BUDGET_MS = 180_000;
const THREAD_MEMORY_MIB = 512;
/**
 * A picture of 40 million pixels takes 460 MiB to decode and recognize. The system's allocator keeps what small pieces took
 * for the next threads, so the process may stay this much larger.
 */
const GROWTH_BYTES_MAX = 640 * 1024 * 1024;
const THREAD_IDLE_MS = 30_000;
const WAITING_MAX = 64;

export function createTextExtractor({
  tmp,
  newId,
  recognizesText,
}: {
  /** A private folder for files on their way to a thread. */
  readonly tmp: string;
  readonly newId: () => string;
  /** Whether text of pictures and scanned pages is recognized. */
  readonly recognizesText: boolean;
}): TextExtractor {
  const pool = createThreadPool<ExtractionInput, Extraction>({
    workerUrl: new URL("./extraction/extraction.worker.ts", import.meta.url),
    workerData: undefined,
    // One: extraction is background work and must leave the processor to requests.
    threadsMax: 1,
    runningPerCallerMax: 1,
    queue: { lengthMax: WAITING_MAX, lengthPerCallerMax: WAITING_MAX, sizeMax: WAITING_MAX },
    idleMs: THREAD_IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MIB },
    growthBytesMax: GROWTH_BYTES_MAX,
  });

  const run = async (
    input: ExtractionInput,
    { budgetMs, userId }: { budgetMs: number; userId: string },
  ): Promise<Extraction> => {
    const outcome = await pool.run(input, { budgetMs, caller: userId, size: 1 });
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

  return {
    async extract({ content, filename, userId }) {
      const path = join(tmp, `extract-${newId()}`);
      try {
        await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600 }));
        const file = { path, filename };
        const plain = await run({ ...file, recognizes: false }, { budgetMs: BUDGET_MS, userId });
        const isComplete = plain.kind === "text" ? !plain.isPartial : plain.reason !== "ocr_off";
        if (isComplete || !recognizesText) return plain;
        const budgetMs = RECOGNITION_BUDGET_MS;
        const recognized = await run({ ...file, recognizes: true }, { budgetMs, userId });
        return recognized.kind === "text" || plain.kind !== "text" ? recognized : plain;
      } finally {
        await unlink(path).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
        });
      }
    },

    close: () => pool.close(),
  };
}
