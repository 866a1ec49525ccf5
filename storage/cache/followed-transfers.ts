import type { FileHandle } from "node:fs/promises";
import type { Background } from "./background.ts";
import type { CacheFiles } from "./cache-files.ts";
import type { CacheIndex } from "./cache-index.ts";
import { type CacheRequest, type Started, type Transfer, fetchRest } from "./transfer.ts";
import { startFill, type Fetched } from "./fill.ts";

/** Transfers into files that all who share them read while they grow. */
export interface FollowedTransfers {
  /**
   * Starts a file, and keeps it when it is whole. One that everybody has left is given up if much is still to come. When
   * the disk takes no file, the bytes go through.
   */
  begin<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    /** What the user's cache may hold. */
    limit: number,
    transfer: Transfer<Meta, Failure>,
  ): Promise<Started<Meta>>;
  /** From here on what everybody has left is given up, however little is to come. */
  close(): void;
}

export interface FollowedTransfersOptions {
  readonly files: CacheFiles;
  readonly index: CacheIndex;
  readonly background: Background;
  readonly newId: () => string;
  readonly onError: (error: unknown, what: string) => void;
}

/** Memory of all transfers together. Readers that keep up read from it and never wait for the disk. */
const WINDOWS_BYTES = 64 * 1024 * 1024;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;
/** Memory of all transfers together for bytes that wait for the disk. */
const UNWRITTEN_BYTES = 48 * 1024 * 1024;

/** A transfer that everybody has left is finished all the same when no more than this is to come. */
const FINISH_ANYWAY_BYTES = 8 * 1024 * 1024;

export function createFollowedTransfers(options: FollowedTransfersOptions): FollowedTransfers {
  const { files, index, background, newId } = options;
  let fills = 0;
  let isClosed = false;

  return {
    async begin(request, fetched, limit, transfer) {
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
          // Readers are told by their own streams when a transfer breaks off.
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
        // The last reader may go while the transfer ends: both want to close.
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
        const left = size === undefined ? Number.POSITIVE_INFINITY : size - fill.arrived;
        if (fill.isComplete || (!isClosed && left <= FINISH_ANYWAY_BYTES)) return;
        transfer.leave();
        transfer.controller.abort();
        fill.abort(new Error("nobody waits for the transfer any more"));
      };
      background.add(end(), "keeping a file");
      return { kind: "fill", meta, size, fill };
    },

    close() {
      isClosed = true;
    },
  };
}
