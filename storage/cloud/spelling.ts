import { Buffer } from "node:buffer";
import { NAME_BYTES_MAX } from "./outcomes.ts";

/** Whether two names are one to a storage that tells neither case nor normal forms apart. */
export function isSameSpelling(one: string, other: string): boolean {
  return fold(one) === fold(other);
}

/** Whether a name that was found may be the one that was sent: a storage may keep it composed, but in no other case. */
export function isAsSent(found: string, sent: string): boolean {
  return found.normalize("NFC") === sent.normalize("NFC");
}

/**
 * A free-standing name that tells where it belongs: the stop between two renames where a storage takes no change of
 * case alone. `id` makes it unique. The stem is shortened to what a name may be long.
 */
export function toStopoverName(name: string, id: string): string {
  const suffix = `.croft-${id.replaceAll("-", "").slice(-12)}`;
  let stem = "";
  for (const letter of name) {
    if (Buffer.byteLength(stem + letter + suffix) > NAME_BYTES_MAX) break;
    stem += letter;
  }
  return stem + suffix;
}

/** Letter by letter, for in a word a letter's small form may depend on those around it, which storages do not look at. */
function fold(name: string): string {
  return Array.from(name.normalize("NFC"), (letter) => letter.toLowerCase()).join("");
}
