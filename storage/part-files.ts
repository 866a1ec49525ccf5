import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { createChunkWriter } from "./chunk-writer.ts";

/**
 * Files that are written in parts, one file for each id. Written bytes survive a failure and a crash. Daemons that share the
 * folder may write the same bytes at the same place at once, as when a client repeats a part whose first request still runs.
 */
export type PartFiles = ReturnType<typeof createPartFiles>;

const READ_BYTES = 512 * 1024;

/** @param folder is created when it is missing; ids are names without separators */
export function createPartFiles(folder: string) {
  const pathOf = (id: string) => {
    if (!/^[\w-]{1,64}$/.test(id)) throw new Error("not an id of a part file");
    return join(folder, id);
  };

  /** Not for appending: the system would choose the place of each write, after those of another daemon. */
  const openToWrite = async (id: string) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return open(pathOf(id), constants.O_CREAT | constants.O_WRONLY, 0o600);
  };

  return {
    /** Creates the file unless it exists. Returns its size. */
    async create(id: string): Promise<number> {
      const file = await openToWrite(id);
      try {
        return (await file.stat()).size;
      } finally {
        await file.close();
      }
    },

    /** Bytes of the file; 0 when it is missing. */
    async sizeOf(id: string): Promise<number> {
      const found = await stat(pathOf(id)).catch(ignoreMissing);
      return found?.size ?? 0;
    },

    /**
     * Writes a stream from `offset` on, up to `sizeMax` bytes in all, and syncs the file. Returns where it ended. Bytes that
     * arrived before an error of the source are kept; the error is rethrown. Returns `too_long` when the source has more;
     * bytes beyond `sizeMax` are not kept.
     */
    async append(
      id: string,
      content: Readable,
      { offset, sizeMax }: { readonly offset: number; readonly sizeMax: number },
    ): Promise<number | "too_long"> {
      const file = await openToWrite(id);
      try {
        const chunks = createChunkWriter(file, offset);
        let size = offset;
        try {
          // Leaving the loop must not destroy a request, on whose connection the refusal is sent.
          for await (const chunk of content.iterator({ destroyOnReturn: false })) {
            if (size + chunk.byteLength > sizeMax) return "too_long";
            size += chunk.byteLength;
            await chunks.write(chunk);
          }
        } finally {
          await chunks.flush().finally(() => file.sync());
        }
        return size;
      } finally {
        await file.close();
      }
    },

    /** Returns the SHA-256 of the file in hex. */
    async hash(id: string): Promise<string> {
      const file = await open(pathOf(id), "r");
      try {
        const hash = createHash("sha256");
        const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
        for (;;) {
          const { bytesRead } = await file.read(buffer, 0, READ_BYTES, null);
          if (bytesRead === 0) return hash.digest("hex");
          hash.update(buffer.subarray(0, bytesRead));
        }
      } finally {
        await file.close();
      }
    },

    /** Opens the file; the stream closes it. */
    async open(id: string): Promise<Readable> {
      const file = await open(pathOf(id), "r");
      const stream = file.createReadStream({ highWaterMark: READ_BYTES });
      // The reader may refuse the file before it reads; a late error must not end the process.
      stream.on("error", () => undefined);
      return stream;
    },

    /** Removes the file. Removing a missing one is not an error. */
    remove: (id: string): Promise<void> => rm(pathOf(id), { force: true }),
  };
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
