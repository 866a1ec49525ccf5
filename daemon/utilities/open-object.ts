import type { ObjectStore, ObjectStream } from "../../storage/objects/object-store.ts";
import { AppError } from "../errors.ts";

/** A part of an object, both ends included. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Opens the bytes of an object that a row references. Refuses with `unavailable` when they are missing or damaged.
 * @param noun what the bytes are to the caller, such as `file`
 */
export async function openObject(
  store: Pick<ObjectStore, "open">,
  { sha256, size }: { readonly sha256: string; readonly size: number },
  noun: string,
  range?: ByteRange,
): Promise<ObjectStream> {
  const opened = await store.open(sha256, size, range);
  if (opened === undefined)
    throw new AppError("unavailable", `the bytes of this ${noun} are missing or damaged`);
  return opened;
}
