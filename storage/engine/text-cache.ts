/** Returns a value that is computed from a text and cached by it. */
export type TextCache<T> = (text: string) => T;

/**
 * Caches `make(text)` for at least the last `size` texts and at most twice as many. It has two generations instead of an
 * exact order of use: a hit costs one lookup and moves nothing.
 */
export function createTextCache<T extends object | string>(
  make: (text: string) => T,
  size = 512,
): TextCache<T> {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return (text) => {
    const hit = young.get(text);
    if (hit !== undefined) return hit;
    const value = old.get(text) ?? make(text);
    if (young.size >= size) {
      old = young;
      young = new Map();
    }
    young.set(text, value);
    return value;
  };
}
