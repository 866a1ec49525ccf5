/**
 * `; did you mean X?` for the known word nearest to `word`, or for the only one that begins with it; an empty text when no
 * word is near.
 */
export function suggest(word: string, candidates: readonly string[]): string {
  const nearest = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  // Further than a third of the word apart is a guess rather than a typing mistake.
  if (nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(word.length / 3)))
    return `; did you mean ${nearest.candidate}?`;
  const [longer, ...others] = candidates.filter((candidate) => candidate.startsWith(word));
  return word.length >= prefixMin && longer !== undefined && others.length === 0
    ? `; did you mean ${longer}?`
    : "";
}

/** Fewer letters do not abbreviate one word. */
const prefixMin = 3;

/** The Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        replaced,
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        isSwapped && row > 1 && column > 1 ? (beforePrevious[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? a.length;
}
