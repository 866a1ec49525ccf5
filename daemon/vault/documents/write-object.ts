import type { Readable } from "node:stream";
import type { ObjectIdentity, ObjectStore } from "../../../storage/objects/object-store.ts";
import type { AppError } from "../../errors.ts";
import { readChunks } from "../../utilities/receive-body.ts";

/** Writes a body as an object. Calls `refuse` before each chunk is written, and `check` before the object is published. */
export async function writeObject(
  store: ObjectStore,
  body: Readable,
  refuse: (size: number) => AppError | undefined | Promise<AppError | undefined>,
  check?: (identity: ObjectIdentity) => void,
): Promise<ObjectIdentity> {
  const writer = await store.createPlain();
  try {
    for await (const chunk of readChunks(body)) {
      const refusal = await refuse(writer.size + chunk.byteLength);
      if (refusal !== undefined) throw refusal;
      await writer.write(chunk);
    }
    const identity = await writer.seal();
    check?.(identity);
    await writer.publish();
    return identity;
  } finally {
    await writer.discard();
  }
}
