import { createHash } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { isDiskFull } from "../system-errors.ts";
import { StorageError } from "../engine/database.ts";
import type { ObjectDigests, ObjectIdentity, ObjectWriter } from "./object-store.ts";

export interface WriterDeps {
  /** The folder of staging files. Recovery on startup empties it. */
  readonly tmp: string;
  /** Returns a unique text that is valid as a file name. */
  readonly newId: () => string;
}

/**
 * Collects incoming bytes in a staging file, because the name of an object is known only after its last byte. `place`
 * publishes the file and removes it; if it throws, the file stays until it is discarded.
 */
export function createObjectWriter(
  deps: WriterDeps,
  place: (path: string, identity: ObjectIdentity) => Promise<void>,
): Promise<ObjectWriter> {
  const others = {
    sha512: createHash("sha512"),
    sha1: createHash("sha1"),
    md5: createHash("md5"),
  };
  return createWriter<ObjectDigests>(deps, {
    place,
    update: (chunk) => {
      for (const hash of Object.values(others)) hash.update(chunk);
    },
    toDigests: (identity) => ({
      ...identity,
      sha512: others.sha512.digest("hex"),
      sha1: others.sha1.digest("hex"),
      md5: others.md5.digest("hex"),
    }),
  });
}

/** As `createObjectWriter`, with SHA-256 alone. */
export function createPlainWriter(
  deps: WriterDeps,
  place: (path: string, identity: ObjectIdentity) => Promise<void>,
): Promise<ObjectWriter<ObjectIdentity>> {
  return createWriter(deps, { place, update: () => {}, toDigests: (identity) => identity });
}

/**
 * Chunks that wait while others are being written. A fast client fills them, so that one call writes up to 512 KiB; a slow
 * one leaves none.
 */
const WAITING_MAX = 8;

async function createWriter<Digests extends ObjectIdentity>(
  { tmp, newId }: WriterDeps,
  {
    place,
    update,
    toDigests,
  }: {
    readonly place: (path: string, identity: ObjectIdentity) => Promise<void>;
    readonly update: (chunk: Uint8Array) => void;
    readonly toDigests: (identity: ObjectIdentity) => Digests;
  },
): Promise<ObjectWriter<Digests>> {
  const path = join(tmp, `object-${newId()}`);
  const handle = await open(path, "wx", 0o600).catch(failWriting);
  const sha256 = createHash("sha256");
  let size = 0;
  let digests: Digests | undefined;
  let state: "open" | "sealed" | "gone" = "open";
  let waiting: Uint8Array[] = [];
  let isWriting: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  /** Writes the waiting chunks. Never rejects: the next caller throws the failure. */
  function flush(): void {
    const chunks = waiting;
    waiting = [];
    isWriting = writeAll(handle, chunks)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        isWriting = undefined;
      });
  }

  function assertWritten(): void {
    if (failure !== undefined) throw failure.error;
  }

  return {
    get size() {
      return size;
    },

    async write(chunk) {
      assertWritten();
      waiting.push(chunk);
      size += chunk.byteLength;
      if (isWriting === undefined) flush();
      // While the system writes, this thread hashes.
      sha256.update(chunk);
      update(chunk);
      if (waiting.length < WAITING_MAX) return;
      await isWriting;
      assertWritten();
      if (waiting.length > 0) flush();
    },

    async seal() {
      await isWriting;
      if (waiting.length > 0) flush();
      await isWriting;
      assertWritten();
      await handle.sync().catch(failWriting);
      await handle.close();
      state = "sealed";
      return (digests = toDigests({ size, sha256: sha256.digest("hex") }));
    },

    async publish() {
      if (digests === undefined || state !== "sealed")
        throw new Error("only sealed bytes can be published, and only once");
      await place(path, digests);
      state = "gone";
    },

    async discard() {
      if (state === "gone") return;
      try {
        if (state === "open") await handle.close();
      } finally {
        state = "gone";
        await rm(path, { force: true });
      }
    },
  };
}

/** Writes chunks by as few calls as possible. */
async function writeAll(handle: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  let { bytesWritten: written } = await handle.writev(chunks).catch(failWriting);
  for (const chunk of chunks) {
    let done = Math.min(written, chunk.byteLength);
    written -= done;
    // A full disk takes a part of the bytes and fails with the rest.
    while (done < chunk.byteLength) {
      const { bytesWritten } = await handle.write(chunk.subarray(done)).catch(failWriting);
      done += bytesWritten;
    }
  }
}

/** Returns `StorageError` `full` when the disk is full, else the error unchanged. */
export function failWriting(error: unknown): never {
  if (isDiskFull(error))
    throw new StorageError("full", "no room left for an object", { cause: error });
  throw error;
}
