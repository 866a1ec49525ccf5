/** First parts of words that keep their hyphen where a line ends behind it. */
const COMPOUND_FIRST = new Set(
  (
    "north south east west self well non anti semi multi ex quasi " +
    "twenty thirty forty fifty sixty seventy eighty ninety"
  ).split(" "),
);
/** Endings that are no words: the hyphen before them divides a word. */
const ENDING = /^(?:ern|erly|ward|wards|ness|less|ful|ing|ment|tion|sion|able|ible|ally)\b/u;

/**
 * Joins words that are divided at the ends of lines, so that a search finds them as a whole. A hyphen stays where the same
 * compound stands within a line, before a capital letter or a digit, and behind the usual first parts of compounds; the hyphen
 * of others counts as made by the line break.
 */
export function joinDividedWords(lines: readonly string[]): string[] {
  const compounds = new Set(
    lines.flatMap((line) => line.toLowerCase().match(/\p{L}+(?:-\p{L}+)+/gu) ?? []),
  );
  const joined: string[] = [];
  for (const line of lines) {
    const previous = joined.at(-1);
    const divided =
      previous === undefined
        ? null
        : /([\p{L}\p{N}-]*[\p{L}\p{N}])[-\u00ad\u2010]$/u.exec(previous);
    const next = /^[\p{L}\p{N}]+/u.exec(line)?.[0];
    if (previous === undefined || divided === null || next === undefined) {
      joined.push(line);
      continue;
    }
    const first = divided[1] ?? "";
    const keeps = previous.endsWith("-") && keepsHyphen(first, next, compounds);
    joined[joined.length - 1] = `${keeps ? previous : previous.slice(0, -1)}${line}`;
  }
  return joined;
}

function keepsHyphen(first: string, next: string, compounds: ReadonlySet<string>): boolean {
  const start = first.toLowerCase();
  if (compounds.has(`${start}-${next}`.toLowerCase())) return true;
  if (!/^\p{Ll}/u.test(next) && !/^[\p{Lo}\p{Lm}]/u.test(next)) return true;
  if (/[-\d]/.test(start)) return true;
  return COMPOUND_FIRST.has(start) && next.length >= 4 && !ENDING.test(next);
}
