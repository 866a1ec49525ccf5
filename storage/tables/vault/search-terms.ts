// Terms of a search and passages with their matches, for both databases.

/** One term of a query: a word, the beginning of a word, or several words in this order. */
export interface SearchTerm {
  /** Folded by `foldText`. */
  readonly words: readonly string[];
  /** The words as typed, where SQLite's index does not fold them as `foldText` does; see `readTypedWords`. */
  readonly typed?: string | undefined;
  /** The last word is the beginning of a word. */
  readonly isPrefix: boolean;
}

export const MARK_START = "\u0001";
export const MARK_END = "\u0002";

/** Words of a passage. */
export const PASSAGE_WORDS = 24;

/** Folds a text for comparison: without case, accents and compatibility forms; everything but letters and digits is a space. */
export function foldText(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/**
 * Returns the words of a query as typed if the tokenizer of SQLite's index would not fold them to `folded`. It removes the
 * accents of Latin letters only: Hangul, kana with sound marks, Devanagari, й or a ligature stay as they are in the index.
 */
export function readTypedWords(text: string, folded: readonly string[]): string | undefined {
  const typed = text
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
  const byTokenizer = typed
    .normalize("NFD")
    .replace(/(?<=\p{Script=Latin})[\u0300-\u036f]+/gu, "")
    .normalize("NFC");
  return byTokenizer === folded.join(" ") ? undefined : typed;
}

/** Cuts the words around the first match out of a text and highlights all matches in them. */
export function toPassage(text: string, terms: readonly SearchTerm[]): string {
  const found = text.matchAll(/[\p{L}\p{N}\p{M}]+/gu);
  const words: { folded: string; start: number; end: number }[] = [];
  // A match is often near the beginning, so words after the passage are not read.
  const readWords = (count: number) => {
    while (words.length < count) {
      const { value, done } = found.next();
      if (done === true) return;
      const { 0: word, index } = value;
      words.push({ folded: foldText(word), start: index, end: index + word.length });
    }
  };
  const lengthAt = (at: number) =>
    Math.max(0, ...terms.map((term) => (matchesAt(words, at, term) ? term.words.length : 0)));
  const longest = Math.max(...terms.map((term) => term.words.length));
  let first = 0;
  for (; ; first += 1) {
    readWords(first + longest);
    if (first >= words.length || lengthAt(first) > 0) break;
  }
  if (first >= words.length) first = 0;
  const from = Math.max(0, first - PASSAGE_WORDS / 4);
  readWords(from + PASSAGE_WORDS + longest);
  const until = Math.min(words.length, from + PASSAGE_WORDS);
  let passage = from > 0 ? "…" : "";
  let position = words[from]?.start ?? 0;
  for (let at = from; at < until;) {
    const length = Math.min(lengthAt(at), until - at);
    const [word, last] = [words[at], words[at + Math.max(1, length) - 1]];
    if (word === undefined || last === undefined) break;
    const matched = text.slice(word.start, last.end);
    passage += text.slice(position, word.start);
    passage += length > 0 ? `${MARK_START}${matched}${MARK_END}` : matched;
    position = last.end;
    at += Math.max(1, length);
  }
  return until < words.length ? `${passage}…` : passage + text.slice(position);
}

function matchesAt(
  words: readonly { readonly folded: string }[],
  at: number,
  term: SearchTerm,
): boolean {
  return term.words.every((word, index) => {
    const folded = words[at + index]?.folded ?? "";
    const isLast = index === term.words.length - 1;
    return term.isPrefix && isLast ? folded.startsWith(word) : folded === word;
  });
}
