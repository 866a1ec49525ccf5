/** `; did you mean X?` for the known word nearest to `word`, or nothing when none is near. */
export function suggest(word: string, known: readonly string[]): string {
  const nearest = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  // Further than a third of the word apart is a guess rather than a typing mistake.
  return nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(word.length / 3))
    ? `; did you mean ${nearest.candidate}?`
    : "";
}

/** Characters put in, left out, taken for another, or swapped with the next, each counted once. */
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
