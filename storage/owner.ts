import type { Readable, Writable } from "node:stream";

/** A file handle or another resource with `await using`, or a stream. */
type Owned = AsyncDisposable | Readable | Writable;

/**
 * Owns opened files and streams until they are handed on. `await using` closes the others on every way out of the block, the
 * last opened first. Node ends a process whose forgotten file handle is garbage collected.
 *
 * ```ts
 * await using owner = createOwner();
 * const file = owner.own(await open(path));
 * const { size } = await file.stat();
 * return { size, file: owner.handOver(file) };
 * ```
 */
export interface Owner extends AsyncDisposable {
  /** Takes over a resource and returns it. */
  own<T extends Owned>(resource: T): T;
  /** Gives up a resource, which its next owner closes, and returns it. */
  handOver<T extends Owned>(resource: T): T;
}

export function createOwner(...resources: readonly Owned[]): Owner {
  const owned = new Set<Owned>(resources);
  return {
    own(resource) {
      owned.add(resource);
      return resource;
    },
    handOver(resource) {
      owned.delete(resource);
      return resource;
    },
    async [Symbol.asyncDispose]() {
      for (const resource of [...owned].toReversed())
        if (isStream(resource)) discard(resource);
        else await closeUnused(resource);
    },
  };
}

/** Destroys a stream. Errors are ignored, also later ones: nothing of the stream is used any more. */
export function discard(stream: Readable | Writable): void {
  stream.on("error", () => undefined);
  stream.destroy();
}

async function closeUnused(resource: AsyncDisposable): Promise<void> {
  try {
    await resource[Symbol.asyncDispose]();
  } catch {
    // The block that could not hand it on reports its own reason, and nothing that was written to it is used.
  }
}

function isStream(resource: Owned): resource is Readable | Writable {
  return "destroy" in resource;
}
