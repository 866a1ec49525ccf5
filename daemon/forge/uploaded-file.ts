import type { Readable } from "node:stream";
import type { ObjectIdentity, ObjectStore } from "../../storage/objects/object-store.ts";
import { AppError } from "../errors.ts";
import { openObject } from "../utilities/open-object.ts";
import { findShownType, type ShownType, SNIFFED_BYTES } from "./shown-type.ts";

/** A file of a request. */
export interface UploadedFile {
  readonly name: string;
  readonly stream: Readable;
  /** In bytes; undefined when unknown. */
  readonly size: number | undefined;
}

const NAME_CHARACTERS_MAX = 255;

/**
 * Returns the last segment of a name, without control characters. Refuses an empty or too long one with
 * `unprocessable`.
 */
export function toFileName(requestedName: string): string {
  const name = requestedName
    .slice(Math.max(requestedName.lastIndexOf("/"), requestedName.lastIndexOf("\\")) + 1)
    .replace(/\p{Cc}/gu, "")
    .toWellFormed()
    .trim();
  if (name === "" || name === "." || name === "..")
    throw new AppError("unprocessable", "[Name]: Required");
  if (Array.from(name).length > NAME_CHARACTERS_MAX)
    throw new AppError("unprocessable", "[Name]: MaxSize");
  return name;
}

/** Detects the type of a stored object from its first bytes. */
export async function findObjectType(
  store: Pick<ObjectStore, "open">,
  { sha256, size }: ObjectIdentity,
): Promise<ShownType> {
  if (size === 0) return findShownType(Buffer.alloc(0));
  const range = { start: 0, end: Math.min(size, SNIFFED_BYTES) - 1 };
  const stream = await openObject(store, { sha256, size }, "file", range);
  return findShownType(Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>)));
}
