import { hash } from "node:crypto";

/** Longest id in bytes that is searched for as it is: an index of PostgreSQL takes some 2,700 bytes in all. */
export const REF_BYTES_MAX = 1536;

/** What the id of an item or a folder is searched by: itself, or where it is too long for an index, its hash. */
export function toRefKey(ref: string): string {
  return isLong(ref) ? `\u0001${hash("sha256", ref, "hex")}` : ref;
}

/** The id that is kept besides its key; null where the key is the id. */
export function toLongRef(ref: string): string | null {
  return isLong(ref) ? ref : null;
}

function isLong(ref: string): boolean {
  // Three bytes are the most that a unit of UTF-16 takes.
  return ref.length * 3 > REF_BYTES_MAX && Buffer.byteLength(ref) > REF_BYTES_MAX;
}
