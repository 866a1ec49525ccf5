import { pipeline } from "node:stream/promises";
import type { FileObjects, ObjectStore } from "./object-store.ts";

/**
 * Objects that go on living in another store while files from before are left: new ones go there, old ones are read where
 * they still are, and every sweep moves files until there are none. A file goes when its bytes are there, and one that is
 * not what its name says stays.
 */
export function createMovingObjects(from: FileObjects, to: ObjectStore): ObjectStore {
  return {
    create: () => to.create(),

    open: async (sha256, size, range) =>
      // In this order: what is gone from here is there.
      (await from.open(sha256, size, range)) ?? to.open(sha256, size, range),

    async sweep(options) {
      const swept = await from.sweep(options);
      for await (const { sha256, size } of from.list()) {
        options.signal?.throwIfAborted();
        if (await copy(from, to, sha256, size)) await from.remove(sha256);
      }
      const there = await to.sweep(options);
      return { objects: swept.objects + there.objects, bytes: swept.bytes + there.bytes };
    },
  };
}

/** Whether the bytes are there afterwards, and are what their name says. */
async function copy(
  from: FileObjects,
  to: ObjectStore,
  sha256: string,
  size: number,
): Promise<boolean> {
  const writer = await to.create();
  try {
    const source = await from.open(sha256, size);
    if (source === undefined) return false;
    await pipeline(source, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await writer.write(chunk);
    });
    if ((await writer.seal()).sha256 !== sha256) return false;
    await writer.publish();
    return true;
  } finally {
    await writer.discard();
  }
}
