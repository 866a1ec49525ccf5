import { createHash } from "node:crypto";
import { createLruCache } from "../../../utilities/lru-cache.ts";
import { toEncodedForms } from "../../../workflows/secret-forms.ts";
import { createSecretIndex, type SecretRange } from "../../../workflows/secret-index.ts";

/** The text that replaces a secret in a log. */
const MASK = "***";
/** Minimum length of a line of a multi-line secret that is masked by itself. */
const LINE_CHARACTERS_MIN = 4;
/** Characters behind a secret at the end of a batch that may belong to it, though they are too few to tell. */
const REST_CHARACTERS_MAX = 3;

/** Masked rows, and what the masker has to know with the next ones. */
export interface MaskedRows {
  readonly rows: readonly string[];
  /** The end of these rows, unmasked, when a secret may begin there; else empty. */
  readonly pending: readonly string[];
}

/** A batch of rows, and the values to mask in it. */
export interface MaskRequest {
  readonly secrets: readonly string[];
  readonly rows: readonly string[];
  readonly pending: readonly string[];
}

/** A secret has some twelve encoded forms; making and indexing them takes this many steps per character. */
const STEPS_PER_SECRET_CHARACTER = 120;
/** Each length of pieces is a search of its own. */
const STEPS_PER_ROW_CHARACTER = 30;
/** Total length of the secrets whose maskers are cached in one thread. */
const CACHED_CHARACTERS_MAX = 2 * 1024 * 1024;

/** Creates the function of `Compute` that masks a batch of rows. It caches the maskers of the latest jobs. */
export function createMaskRows() {
  const cache = createLruCache<ReturnType<typeof createMasker>>({
    valueLengthMax: CACHED_CHARACTERS_MAX,
    lengthMax: CACHED_CHARACTERS_MAX,
  });
  return {
    name: "maskRows",
    // What is pending may be as long as a secret, and is searched again with each batch.
    cost: ({ secrets, rows, pending }: MaskRequest) =>
      STEPS_PER_SECRET_CHARACTER * sumLengths(secrets) +
      STEPS_PER_ROW_CHARACTER * (sumLengths(rows) + sumLengths(pending)),
    length: ({ secrets, rows, pending }: MaskRequest) =>
      sumLengths(secrets) + sumLengths(rows) + sumLengths(pending),
    run({ secrets, rows, pending }: MaskRequest): MaskedRows {
      const key = toDigest(secrets).toString("base64");
      const mask = cache.get(key) ?? createMasker(secrets);
      cache.set(key, mask, sumLengths(secrets));
      return mask(rows, pending);
    },
  };
}

/** Returns the sum of the lengths of texts, each with one character more. */
function sumLengths(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length + 1, 0);
}

/**
 * Returns a function that masks secrets in the rows of a log: as they are, in base64 at any alignment, percent-encoded,
 * as JSON, by single lines, and split over rows. Long secrets are also masked by their pieces; see `createSecretIndex`. A
 * secret that is split over batches is masked in both when the caller passes the `pending` of the previous batch.
 */
export function createMasker(secrets: readonly string[]) {
  const forms = [
    ...new Set(secrets.flatMap((secret) => [...toPlainForms(secret), ...toEncodedForms(secret)])),
  ];
  // The secrets include tokens of the job, so a user who chooses masks cannot know the multiplier before.
  const index = createSecretIndex(forms, toDigest(secrets).readInt32LE() | 1);
  return (rows: readonly string[], pending: readonly string[] = []): MaskedRows => {
    if (forms.length === 0 || rows.length === 0) return { rows, pending: [] };
    const before = pending.join("");
    // A secret may continue in the next row: rows are searched as one text without line breaks.
    const text = before + rows.join("");
    const found = index.find(text);
    const begun = index.measureBegun(text);
    const end = found.reduce((last, [, each]) => Math.max(last, each), 0);
    const rest = end > 0 && text.length - end <= REST_CHARACTERS_MAX ? text.length - end : 0;
    if (begun > 0) found.push([text.length - begun, text.length]);
    const ranges = found.flatMap(([from, to]): SecretRange[] =>
      to > before.length ? [[Math.max(0, from - before.length), to - before.length]] : [],
    );
    const kept = Math.max(begun, rest);
    return {
      rows: ranges.length === 0 ? rows : cover(rows, ranges),
      pending: kept === 0 ? [] : [text.slice(-kept)],
    };
  };
}

/** Replaces ranges of the joined rows, each by one mask in every row that it touches. */
function cover(rows: readonly string[], ranges: readonly SecretRange[]): string[] {
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

function toPlainForms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const whole = secret.replaceAll(/[\r\n]/g, "");
  const own = lines.length > 1 ? lines.filter((line) => line.length >= LINE_CHARACTERS_MIN) : [];
  return [whole, whole.trim(), ...own].filter((form) => !/^\**$/.test(form));
}

function toDigest(secrets: readonly string[]): Buffer {
  const hash = createHash("sha256");
  for (const secret of secrets) hash.update(`${secret.length}:`).update(secret);
  return hash.digest();
}
