import { hash } from "node:crypto";

/** Longest id in bytes that is searched for as it is: an index of PostgreSQL takes some 2,700 bytes in all. */
export const REF_BYTES_MAX = 1536;

/** Returns the value by which the id of an item or folder is indexed: the id, or its hash if it is too long for an index. */
export function toRefKey(ref: string): string {
  return isLong(ref) ? `\u0001${hash("sha256", ref, "hex")}` : ref;
}

/** Returns the id to store in addition to its key; null where the key is the id. */
export function toLongRef(ref: string): string | null {
  return isLong(ref) ? ref : null;
}

function isLong(ref: string): boolean {
  // Three bytes are the most that a unit of UTF-16 takes.
  return ref.length * 3 > REF_BYTES_MAX && Buffer.byteLength(ref) > REF_BYTES_MAX;
}
