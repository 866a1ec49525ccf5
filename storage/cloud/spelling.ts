/** Whether two names are one to a storage that tells neither case nor normal forms apart. */
export function isSameSpelling(one: string, other: string): boolean {
  return fold(one) === fold(other);
}

/** Whether a name that was found may be the one that was sent: a storage may keep it composed, but in no other case. */
export function isAsSent(found: string, sent: string): boolean {
  return found.normalize("NFC") === sent.normalize("NFC");
}

/** Letter by letter, for in a word a letter's small form may depend on those around it, which storages do not look at. */
function fold(name: string): string {
  return Array.from(name.normalize("NFC"), (letter) => letter.toLowerCase()).join("");
}
