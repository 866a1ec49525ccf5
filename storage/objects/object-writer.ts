import { createHash, type Hash } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { isDiskFull } from "../system-errors.ts";
import { StorageError } from "../engine/database.ts";
import type { ObjectFacts, ObjectWriter } from "./object-store.ts";

export interface WriterDeps {
  /** Where bytes wait that are on their way in. Emptied by others after a crash. */
  readonly tmp: string;
  /** Unique, and fit for a file name. */
  readonly newId: () => string;
}

/**
 * Bytes on their way in wait in a file: only when all are there is the name known that they will have. `place` makes an
 * object of the file and takes it away; where it throws the file is left, to be discarded.
 */
export async function createObjectWriter(
  { tmp, newId }: WriterDeps,
  place: (path: string, facts: ObjectFacts) => Promise<void>,
): Promise<ObjectWriter> {
  const path = join(tmp, `object-${newId()}`);
  const handle = await open(path, "wx", 0o600).catch(failWriting);
  const hashes = {
    sha256: createHash("sha256"),
    sha512: createHash("sha512"),
    sha1: createHash("sha1"),
    md5: createHash("md5"),
  } satisfies Record<string, Hash>;
  let size = 0;
  let facts: ObjectFacts | undefined;
  let state: "open" | "sealed" | "gone" = "open";
  return {
    get size() {
      return size;
    },

    async write(chunk) {
      const written = writeAll(handle, chunk);
      for (const hash of Object.values(hashes)) hash.update(chunk);
      await written;
      size += chunk.byteLength;
    },

    async seal() {
      await handle.sync().catch(failWriting);
      await handle.close();
      state = "sealed";
      return (facts = {
        size,
        sha256: hashes.sha256.digest("hex"),
        sha512: hashes.sha512.digest("hex"),
        sha1: hashes.sha1.digest("hex"),
        md5: hashes.md5.digest("hex"),
      });
    },

    async publish() {
      if (facts === undefined || state !== "sealed")
        throw new Error("only sealed bytes can be published, and once");
      await place(path, facts);
      state = "gone";
    },

    async discard() {
      if (state === "gone") return;
      if (state === "open") await handle.close();
      state = "gone";
      await rm(path, { force: true });
    },
  };
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.byteLength;) {
    const { bytesWritten } = await handle.write(chunk.subarray(written)).catch(failWriting);
    written += bytesWritten;
  }
}

/** A file that cannot be written: `StorageError` `full` when that is why, else as it came. */
export function failWriting(error: unknown): never {
  if (isDiskFull(error))
    throw new StorageError("full", "no room left for an object", { cause: error });
  throw error;
}
