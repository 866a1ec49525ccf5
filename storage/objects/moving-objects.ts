import { pipeline } from "node:stream/promises";
import type { FileObjects } from "./file-objects.ts";
import type { ObjectStore } from "./object-store.ts";
import { DamagedObject } from "./verified-reads.ts";

/**
 * Moves objects from files to another store: new objects are written to `to`, old ones are read from wherever they are,
 * and every sweep moves files until all are moved. A file is removed once its bytes are in `to`.
 */
export function createMovingObjects(from: FileObjects, to: ObjectStore): ObjectStore {
  return {
    create: () => to.create(),
    createPlain: () => to.createPlain(),

    open: async (sha256, size, range) =>
      // In this order: a file is removed only after its bytes are in the other store.
      (await from.open(sha256, size, range)) ?? to.open(sha256, size, range),

    has: async (sha256, size) => (await from.has(sha256, size)) || to.has(sha256, size),

    async sweep(options) {
      const swept = await from.sweep(options);
      for await (const { sha256, size } of from.list()) {
        options.signal?.throwIfAborted();
        if (await copy(from, to, sha256, size)) await from.remove(sha256);
      }
      const sweptTarget = await to.sweep(options);
      return {
        objects: swept.objects + sweptTarget.objects,
        bytes: swept.bytes + sweptTarget.bytes,
      };
    },
  };
}

/** Copies one object. Returns false when it is missing or does not match its SHA-256. */
async function copy(
  from: FileObjects,
  to: ObjectStore,
  sha256: string,
  size: number,
): Promise<boolean> {
  const writer = await to.createPlain();
  try {
    const source = await from.open(sha256, size);
    if (source === undefined) return false;
    await pipeline(source, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await writer.write(chunk);
    });
    if ((await writer.seal()).sha256 !== sha256) return false;
    await writer.publish();
    return true;
  } catch (error) {
    // The damaged file is in quarantine; the other files must still be moved.
    if (error instanceof DamagedObject) return false;
    throw error;
  } finally {
    await writer.discard();
  }
}
