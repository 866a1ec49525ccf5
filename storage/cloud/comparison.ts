import type { Expected } from "./provider.ts";
import type { ProviderItem } from "./item.ts";

/** Returns whether an item matches the caller's expectation, as far as its fields are known. */
export function isExpected(item: ProviderItem, expected: Expected): boolean {
  return (
    (expected.kind === undefined || expected.kind === item.kind) &&
    (expected.name === undefined || expected.name === item.name) &&
    (expected.parent === undefined || expected.parent === item.parent) &&
    (expected.etag === undefined || item.etag === undefined || expected.etag === item.etag)
  );
}

/** Returns whether two names are equal to a storage that ignores case and Unicode normalization. */
export function isSameSpelling(a: string, b: string): boolean {
  return fold(a) === fold(b);
}

/** Returns whether a name in a listing is the one that was sent: a storage may normalize it, but not change its case. */
export function isAsSent(found: string, sent: string): boolean {
  return found.normalize("NFC") === sent.normalize("NFC");
}

/**
 * Folds letter by letter. In a whole word, a letter's lower case may depend on its neighbours, which storages ignore.
 */
function fold(name: string): string {
  return Array.from(name.normalize("NFC"), (letter) => letter.toLowerCase()).join("");
}

/**
 * Returns whether some storages embed their own properties into files of this name: their stored bytes then differ from the
 * uploaded ones and are still valid. Any other difference means damage.
 */
export function isRewritten(name: string): boolean {
  return /\.(doc|docm|docx|dotx|htm|html|mpp|one|ppt|pptm|pptx|pub|vsd|vsdx|xls|xlsb|xlsm|xlsx)$/i.test(
    name,
  );
}
