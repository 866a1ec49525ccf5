/** What was made of a text, kept while the text is in use. */
export type TextCache<T> = (text: string) => T;

/**
 * Remembers `make(text)` for at least the last `kept` texts and at most twice as many. Two generations instead of an
 * exact order of use: a hit costs one look-up and moves nothing.
 */
export function createTextCache<T extends object | string>(
  make: (text: string) => T,
  kept = 512,
): TextCache<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return (text) => {
    const hit = young.get(text);
    if (hit !== undefined) return hit;
    const made = old.get(text) ?? make(text);
    if (young.size >= kept) {
      old = young;
      young = new Map();
    }
    young.set(text, made);
    return made;
  };
}
