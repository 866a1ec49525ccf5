import { createHash } from "node:crypto";
import {
  createSecretIndex,
  type SecretIndex,
  type SecretRange,
} from "../../../daemon/workflows/secret-index.ts";
import { toEncodedForms } from "../../../daemon/workflows/secret-forms.ts";

/** Replaces secrets in texts that are sent to the daemon. */
export type Masker = ReturnType<typeof createMasker>;

const MASK = "***";
/** Lines of a secret that are shorter, such as the brace of a JSON document, would mask too much. */
const LINE_CHARACTERS_MIN = 3;
/** Maximum number of masked values. */
const VALUES_MAX = 100_000;
/** Maximum length of all values: lines are kept as long as the longest one, and longer masks make longer lines. */
const CHARACTERS_MAX = 4 * 1024 * 1024;
/** Shown in place of texts that cannot be masked. */
const NOT_SHOWN = "[not shown: the job has too many or too long masks]";

export function createMasker() {
  const values = new Set<string>();
  const indexes: ValueIndex[] = [];
  let added: string[] = [];
  let key: Buffer = Buffer.alloc(0);
  let longest = 0;
  let characters = 0;
  let isExceeded = false;

  /**
   * Indexes the added values together with the smaller indexes: there are few of them, and a value is indexed few times,
   * also when each line of a job adds one.
   */
  const indexAdded = () => {
    if (added.length === 0) return;
    let forms = added;
    added = [];
    for (let last = indexes.at(-1); last !== undefined; last = indexes.at(-1)) {
      if (last.forms.length > forms.length) break;
      forms = [...last.forms, ...forms];
      indexes.pop();
    }
    // The first values include tokens of the job, so a program that chooses masks cannot know the multiplier.
    key = createHash("sha256").update(key).update(forms.join("\n")).digest();
    const { find } = createSecretIndex(forms, key.readInt32LE() | 1);
    indexes.push({ forms, find });
  };

  return {
    /**
     * Masks a value from now on, with its lines and its usual encodings. Returns false when there are too many: from then on,
     * `mask` replaces every text by a sentence.
     */
    add(secret: string): boolean {
      for (const value of toValues(secret)) {
        if (values.has(value)) continue;
        isExceeded ||= values.size >= VALUES_MAX || characters + value.length > CHARACTERS_MAX;
        if (isExceeded) return false;
        values.add(value);
        added.push(value);
        characters += value.length;
        longest = Math.max(longest, value.length);
      }
      return true;
    },
    mask(text: string): string {
      if (isExceeded) return text === "" ? text : NOT_SHOWN;
      indexAdded();
      const hidden = indexes.flatMap(({ find }) => find(text));
      return hidden.length === 0 ? text : hide(text, hidden);
    },
    /** Length of the longest masked text. A truncated line must be longer, so that a secret at its end is detected. */
    get longest() {
      return longest;
    },
  };
}

interface ValueIndex extends Pick<SecretIndex, "find"> {
  readonly forms: readonly string[];
}

/** Replaces stretches of a text; those that overlap or touch are one. */
function hide(text: string, stretches: readonly SecretRange[]): string {
  let masked = "";
  let end = 0;
  for (const [from, to] of stretches.toSorted(([one], [other]) => one - other)) {
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
