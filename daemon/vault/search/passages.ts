/** A part of a text, as UTF-16 offsets. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
}

/** About 250 tokens of English: models embed that much well, and a search can show it. */
const PASSAGE_CHARACTERS = 1_000;
/** The beginning of a long text is indexed: 200,000 characters. */
const PASSAGES_MAX = 200;

/** Splits a text into passages that end at spaces where they can. Passages without letters and digits are left out. */
export function toPassages(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let start = 0;
  while (start < text.length && parts.length < PASSAGES_MAX) {
    const end = findEnd(text, start);
    if (/[\p{L}\p{N}]/u.test(text.slice(start, end))) parts.push({ start, end });
    start = end;
  }
  return parts;
}

/** The end of a passage: behind the last line break or space of its second half, else where it is full. */
function findEnd(text: string, start: number): number {
  const full = start + PASSAGE_CHARACTERS;
  if (full >= text.length) return text.length;
  const half = start + PASSAGE_CHARACTERS / 2;
  for (const separator of ["\n", ". ", " "]) {
    const at = text.lastIndexOf(separator, full - separator.length);
    if (at >= half) return at + separator.length;
  }
  // A pair of surrogates stays together.
  return /[\uD800-\uDBFF]/.test(text.charAt(full - 1)) ? full - 1 : full;
}
