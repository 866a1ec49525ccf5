import { toEncodedForms } from "../../../daemon/forge/actions/workflows/secret-forms.ts";

/** Replaces secrets in texts that are sent to the daemon. */
export interface Masker {
  /** Masks a value from now on, with its lines and its usual encodings. Returns false when there are too many. */
  add(secret: string): boolean;
  mask(text: string): string;
  /** Length of the longest masked text. A truncated line must be longer, so that a secret at its end is detected. */
  readonly longest: number;
}

const MASK = "***";
/** Lines of a secret that are shorter, such as the brace of a JSON document, would mask too much. */
const LINE_CHARACTERS_MIN = 3;
/** Maximum number of masked values, so that an action that adds one for each line does not slow down every line. */
const VALUES_MAX = 10_000;
/** Maximum length of all values: lines are kept as long as the longest one, and longer masks make longer lines. */
const CHARACTERS_MAX = 4 * 1024 * 1024;

export function createMasker(): Masker {
  const values = new Set<string>();
  let longest = 0;
  let shortest = Infinity;
  let characters = 0;
  return {
    add(secret) {
      for (const value of toValues(secret)) {
        if (values.has(value)) continue;
        if (values.size >= VALUES_MAX || characters + value.length > CHARACTERS_MAX) return false;
        values.add(value);
        characters += value.length;
        longest = Math.max(longest, value.length);
        shortest = Math.min(shortest, value.length);
      }
      return true;
    },
    mask(text) {
      if (text.length < shortest) return text;
      const hidden: [from: number, to: number][] = [];
      for (const value of values)
        for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
          hidden.push([at, at + value.length]);
      return hidden.length === 0 ? text : hide(text, hidden);
    },
    get longest() {
      return longest;
    },
  };
}

/** Replaces stretches of a text; those that overlap or touch are one. */
function hide(text: string, stretches: [from: number, to: number][]): string {
  stretches.sort(([one], [other]) => one - other);
  let masked = "";
  let end = 0;
  for (const [from, to] of stretches) {
    if (from > end || end === 0) masked += text.slice(end, from) + MASK;
    end = Math.max(end, to);
  }
  return masked + text.slice(end);
}

/** Returns the texts in which a secret may appear: itself, each line, and as base64, in a URL and in JSON. */
function toValues(secret: string): string[] {
  const whole = secret.trim();
  if (whole === "") return [];
  const lines = whole.split(/\r?\n/).map((line) => line.trim());
  const plain = [
    ...(lines.length === 1 ? [whole] : []),
    ...(lines.length === 1 ? [] : lines.filter((line) => line.length >= LINE_CHARACTERS_MIN)),
  ];
  return [...plain, ...toEncodedForms(secret)];
}
