import { toEncodedForms } from "../workflows/secret-forms.ts";

/** The text that replaces a secret in a log. */
const MASK = "***";
/** Minimum length of a part at the end of a batch of rows that counts as the beginning of a secret. */
const SPLIT_CHARACTERS_MIN = 4;
/** Maximum length of secrets that are found split over batches. Longer ones are found whole and by their lines. */
const SPLIT_CHARACTERS_MAX = 4_096;
/** Minimum length of a line of a multi-line secret that is masked by itself. */
const LINE_CHARACTERS_MIN = 4;

/** Masked rows, and the remainder of a secret that the next rows may begin with. */
export interface MaskedRows {
  readonly rows: readonly string[];
  /** The remainders of secrets whose beginning is at the end of these rows. */
  readonly pending: readonly string[];
}

/**
 * Returns a function that masks secrets in the rows of a log: as they are, in base64 at any alignment, percent-encoded,
 * as JSON, by single lines, and split over rows. A secret that is split over batches is masked in both when the caller
 * passes the `pending` of the previous batch.
 */
export function createMasker(secrets: readonly string[]) {
  const plain = toPlainForms(secrets);
  const forms = [...new Set([...plain, ...secrets.flatMap(toEncodedForms)])].toSorted(
    (left, right) => right.length - left.length,
  );
  const pattern =
    forms.length === 0 ? undefined : new RegExp(forms.map((form) => escape(form)).join("|"), "g");
  const splittable = forms.filter((form) => form.length <= SPLIT_CHARACTERS_MAX);
  return (rows: readonly string[], pending: readonly string[]): MaskedRows => {
    if (pattern === undefined || rows.length === 0) return { rows, pending: [] };
    // A secret may continue in the next row: rows are searched as one text without line breaks.
    const text = rows.join("");
    const ranges: (readonly [start: number, end: number])[] = [];
    for (const match of text.matchAll(pattern))
      ranges.push([match.index, match.index + match[0].length]);
    const rests: string[] = [];
    for (const rest of pending) {
      const length = Math.min(rest.length, text.length);
      if (!text.startsWith(rest.slice(0, length))) continue;
      ranges.push([0, length]);
      if (length < rest.length) rests.push(rest.slice(length));
    }
    const tail = text.slice(-SPLIT_CHARACTERS_MAX);
    for (const form of splittable) {
      const length = findSplit(tail, form);
      if (length === 0) continue;
      ranges.push([text.length - length, text.length]);
      rests.push(form.slice(length));
    }
    return { rows: ranges.length === 0 ? rows : cover(rows, ranges), pending: rests };
  };
}

/** Returns how many characters of a form end a text; 0 when fewer than the minimum or all of them. */
function findSplit(tail: string, form: string): number {
  const last = tail.at(-1);
  for (
    let length = Math.min(form.length - 1, tail.length);
    length >= SPLIT_CHARACTERS_MIN;
    length -= 1
  )
    if (form[length - 1] === last && tail.endsWith(form.slice(0, length))) return length;
  return 0;
}

/** Replaces ranges of the joined rows, each by one mask in every row that it touches. */
function cover(
  rows: readonly string[],
  ranges: readonly (readonly [start: number, end: number])[],
): string[] {
  const merged: [start: number, end: number][] = [];
  for (const [start, end] of ranges.toSorted(([left], [right]) => left - right)) {
    const before = merged.at(-1);
    if (before !== undefined && start <= before[1]) before[1] = Math.max(before[1], end);
    else merged.push([start, end]);
  }
  let offset = 0;
  let next = 0;
  return rows.map((row) => {
    const parts: string[] = [];
    let at = 0;
    const rowEnd = offset + row.length;
    for (; next < merged.length; next += 1) {
      const [start = 0, end = 0] = merged[next] ?? [];
      if (start >= rowEnd) break;
      parts.push(row.slice(at, Math.max(at, start - offset)), MASK);
      at = Math.min(row.length, end - offset);
      if (end > rowEnd) break;
    }
    parts.push(row.slice(at));
    offset = rowEnd;
    return parts.join("");
  });
}

function toPlainForms(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => {
    const lines = secret.split(/\r?\n/).map((line) => line.trim());
    const whole = secret.replaceAll(/[\r\n]/g, "");
    const own = lines.length > 1 ? lines.filter((line) => line.length >= LINE_CHARACTERS_MIN) : [];
    return [whole, whole.trim(), ...own].filter((form) => !/^\**$/.test(form));
  });
}

const escape = (form: string): string => form.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
