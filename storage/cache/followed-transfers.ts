import type { FileHandle } from "node:fs/promises";
import type { Background } from "./background.ts";
import type { CacheFiles } from "./cache-files.ts";
import type { CacheIndex } from "./cache-index.ts";
import { type CacheRequest, type Started, type Transfer, fetchRest } from "./transfer.ts";
import { startFill, type Fetched } from "./fill.ts";

export interface FollowedTransfersOptions {
  readonly files: CacheFiles;
  readonly index: CacheIndex;
  readonly background: Background;
  readonly newId: () => string;
  readonly onError: (error: unknown, task: string) => void;
}

/** Memory of all transfers together for recent bytes. Readers that keep up read from it and never wait for the disk. */
const WINDOWS_BYTES = 64 * 1024 * 1024;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;
/** Memory of all transfers together for bytes that are not written yet. */
const UNWRITTEN_BYTES = 48 * 1024 * 1024;

/** A transfer that all readers have left continues when no more than this many bytes are missing. */
const FINISH_ANYWAY_BYTES = 8 * 1024 * 1024;

/** Downloads into cache files, which any number of readers read while the files grow. */
export function createFollowedTransfers(options: FollowedTransfersOptions) {
  const { files, index, background, newId } = options;
  let fills = 0;
  let isClosed = false;

  return {
    /**
     * Starts a transfer, and caches the file when it is complete. When all readers have left, aborts the transfer if
     * much is still missing. If the file cannot be created on disk, the bytes pass through uncached.
     */
    async begin<Meta, Failure extends { readonly kind: string }>(
      request: CacheRequest<Meta, Failure>,
      fetched: Fetched<Meta>,
      limit: number,
      transfer: Transfer<Meta, Failure>,
    ): Promise<Started<Meta>> {
      const { key, meta, size } = fetched;
      const id = newId();
      let file: FileHandle;
      try {
        file = await files.createTemporary(id);
      } catch (error) {
        options.onError(error, "beginning a file");
        transfer.leave();
        return { kind: "through", fetched, isTaken: false };
      }
      fills += 1;
      const fill = startFill(file, fetched.stream, size, {
        bytesMax: limit,
        windowBytes: () => Math.min(WINDOW_BYTES_MAX, WINDOWS_BYTES / fills),
        unwrittenBytes: () => UNWRITTEN_BYTES / fills,
        rest: (start, end) => fetchRest(request, transfer, meta, start, end),
        makeRoom: () => index.makeRoom(),
      });
      if (key !== undefined) index.pin(key);
      let isOver = false;
      let isShut = false;

      async function end(): Promise<void> {
        try {
          // Each reader sees the failure of a transfer in its own stream.
          const filled = await fill.finished.catch(() => undefined);
          if (filled === undefined || key === undefined || filled.size > limit) return;
          await file.sync();
          const { userId, connectionId } = request;
          await index.publish(id, { key, userId, connectionId, ...filled });
        } finally {
          transfer.leave();
          isOver = true;
          try {
            await files.removeTemporary(id);
          } finally {
            if (transfer.users === 0) await shut();
          }
        }
      }

      async function shut(): Promise<void> {
        // The last reader may leave while the transfer ends; then both call this function.
        if (isShut) return;
        isShut = true;
        fills -= 1;
        if (key !== undefined) index.unpin(key);
        await file.close();
      }

      transfer.whenLeft = () => {
        if (isOver) {
          background.add(shut(), "closing a file");
          return;
        }
        const missing = size === undefined ? Number.POSITIVE_INFINITY : size - fill.arrived;
        if (fill.isComplete || (!isClosed && missing <= FINISH_ANYWAY_BYTES)) return;
        transfer.leave();
        transfer.controller.abort();
        fill.abort(new Error("all readers left the transfer"));
      };
      background.add(end(), "keeping a file");
      return { kind: "fill", meta, size, fill };
    },

    /** From now on, aborts every transfer that all readers have left, even if little is missing. */
    close() {
      isClosed = true;
    },
  };
}
