import { Worker } from "node:worker_threads";
import { StorageError } from "../engine/database.ts";

/** A part of the archive; null is its end. */
export type ProofBlock = Uint8Array<ArrayBuffer> | null;

export type ProofMessage =
  /** A block has been read. */
  | { readonly kind: "read" }
  | { readonly kind: "proven" }
  | { readonly kind: "refused"; readonly message: string };

/** Blocks that the thread holds before the writer of the archive waits. */
const BLOCKS_MAX = 4;

/**
 * Starts a thread that reads an archive with `readArchive` while it is written. Functions throw `StorageError`: `corrupt` for
 * an archive that `readArchive` refuses, `failed` when the thread does not start or ends early.
 */
export function startProver() {
  let held = 0;
  let isProven = false;
  let failure: StorageError | undefined;
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const fail = (error: StorageError) => {
    if (!isProven) failure ??= error;
    change();
  };
  const onDeath = (cause: unknown) =>
    fail(new StorageError("failed", "the thread that reads the backup back ended", { cause }));
  const until = async (isDone: () => boolean) => {
    for (;;) {
      if (failure !== undefined) throw failure;
      if (isDone()) return;
      await changed.promise;
    }
  };
  let worker: Worker | undefined;
  try {
    worker = new Worker(new URL("./proof.worker.ts", import.meta.url));
    worker.on("error", onDeath);
    worker.on("exit", (code) => onDeath(new Error(`exit code ${code}`)));
    worker.on("message", (message: ProofMessage) => {
      if (message.kind === "refused") return fail(new StorageError("corrupt", message.message));
      if (message.kind === "proven") isProven = true;
      else held -= 1;
      change();
    });
  } catch (error) {
    // The system has no thread or memory left.
    onDeath(error);
  }
  return {
    /** Takes a block away from its owner. Resolves when the thread can take another one. */
    async add(block: Uint8Array<ArrayBuffer>): Promise<void> {
      held += 1;
      worker?.postMessage(block satisfies ProofBlock, [block.buffer]);
      await until(() => held < BLOCKS_MAX);
    },

    /** Resolves when the whole archive has been read and is what its manifest says. */
    async end(): Promise<void> {
      worker?.postMessage(null satisfies ProofBlock);
      await until(() => isProven);
    },

    /** Ends the thread, wherever it is. */
    async close(): Promise<void> {
      await worker?.terminate();
    },
  };
}
