/** Returns whether two names are equal to a storage that ignores case and Unicode normalization. */
export function isSameSpelling(one: string, other: string): boolean {
  return fold(one) === fold(other);
}

/** Returns whether a name in a listing is the one that was sent: a storage may normalize it, but not change its case. */
export function isAsSent(found: string, sent: string): boolean {
  return found.normalize("NFC") === sent.normalize("NFC");
}

/** Folds letter by letter: in a word a letter's lower case may depend on its neighbours, which storages ignore. */
function fold(name: string): string {
  return Array.from(name.normalize("NFC"), (letter) => letter.toLowerCase()).join("");
}
