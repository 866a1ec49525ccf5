const VALUES_PER_STATEMENT = 50;

/**
 * Reads rows for any number of values, in lists of 50 values or of one: so two prepared statements serve all lengths. Lists are
 * filled up with `absent`, which no row has. Equal values are read once.
 */
export async function inChunks<V extends string | number, T>(
  values: Iterable<V>,
  absent: NoInfer<V>,
  read: (chunk: readonly V[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const unique = [...new Set(values)];
  if (unique.length === 1) return [...(await read(unique))];
  const found: T[] = [];
  for (let at = 0; at < unique.length; at += VALUES_PER_STATEMENT) {
    const chunk = unique.slice(at, at + VALUES_PER_STATEMENT);
    const filling = Array<V>(VALUES_PER_STATEMENT - chunk.length).fill(absent);
    found.push(...(await read([...chunk, ...filling])));
  }
  return found;
}

/** Returns values of rows by a key, each list in the order of the rows. */
export const groupValues = <R, K, V>(
  rows: readonly R[],
  toKey: (row: R) => K,
  toValue: (row: R) => V,
): Map<K, V[]> =>
  new Map([...Map.groupBy(rows, toKey)].map(([key, all]) => [key, all.map((row) => toValue(row))]));

/** Reads rows by ids as `inChunks`. */
export const inChunksOfIds = <I extends number, T>(
  ids: Iterable<I>,
  read: (chunk: readonly number[]) => Promise<readonly T[]>,
): Promise<T[]> => inChunks<number, T>(ids, -1, read);
