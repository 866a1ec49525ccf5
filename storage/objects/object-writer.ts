import { createHash } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { createChunkWriter } from "../chunk-writer.ts";
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
  const chunks = createChunkWriter(handle, 0);
  const sha256 = createHash("sha256");
  let size = 0;
  let digests: Digests | undefined;
  let state: "open" | "sealed" | "gone" = "open";

  return {
    get size() {
      return size;
    },

    async write(chunk) {
      size += chunk.byteLength;
      const written = chunks.write(chunk).catch(failWriting);
      // While the system writes, this thread hashes.
      sha256.update(chunk);
      update(chunk);
      await written;
    },

    async seal() {
      await chunks.flush().catch(failWriting);
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

/** Returns `StorageError` `full` when the disk is full, else the error unchanged. */
export function failWriting(error: unknown): never {
  if (isDiskFull(error))
    throw new StorageError("full", "no room left for an object", { cause: error });
  throw error;
}
