import { analyse } from "chardet";

/** Bytes by which an encoding is guessed. */
const SAMPLE_BYTES = 65_536;
/** Confidence of the detector, in percent, below which it has only few letters to go by. */
const CONFIDENCE_MIN = 45;
/** The encoding of Western texts, and of those whose bytes suggest no other one. */
const WESTERN = "windows-1252";

/** Encodings of Chinese, Japanese and Korean: pairs of bytes, of which most other texts have invalid ones. */
const PAIRED: ReadonlySet<string> = new Set(["shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"]);
/** Encodings of other languages with Latin letters that the detector tells from Western ones by its tables of languages. */
const OTHER_LATIN: Readonly<Record<string, string>> = {
  "windows-1250": "windows-1250",
  "iso-8859-2": "iso-8859-2",
  "iso-8859-9": "windows-1254",
  "windows-1254": "windows-1254",
  "windows-1257": "windows-1257",
};

/** Frequent letters of other scripts by their encodings. */
const SCRIPTS: readonly (readonly [encodings: readonly string[], letters: string])[] = [
  [["windows-1251", "koi8-u", "ibm866", "iso-8859-5", "x-mac-cyrillic"], "оеаинтсрвлкмдпуяыьізй"],
  [["windows-1253"], "αοιετσνηυρπκμλωςίάόέή"],
  [["windows-1255"], "יוהלאתרבםמנשדקח"],
  [["windows-1256"], "اليمونترةبعدسفهك"],
];
/** Letters and marks of Thai, of which its text consists almost alone; pairs of bytes of other languages have others between them. */
const THAI = "กขคงจชซณดตถทธนบปผพฟภมยรลวศษสหอะัาำิีึืุูเแโใไๅๆ็่้์";
const THAI_SHARE_MIN = 0.85;
/** Share of the letters outside ASCII that are frequent ones, in text of a script. */
const FREQUENT_SHARE_MIN = 0.6;
/** Letters outside ASCII, of all, in text of another script than the Latin one. */
const FOREIGN_SHARE_MIN = 0.5;
const FOREIGN_LETTERS_MIN = 8;

/**
 * Guesses the encoding of text that is not valid UTF-8 and declares none. Returns a label of the Encoding standard:
 * Windows-1252 unless the bytes suggest another one.
 */
export function guessEncoding(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const guesses = analyse(sample).map(({ name, confidence }) => ({
    label: name.toLowerCase(),
    confidence,
  }));
  // The detector knows no Thai and takes its bytes for pairs.
  if (isForeign(sample) && shareOf(sample, "windows-874", THAI) >= THAI_SHARE_MIN)
    return "windows-874";
  const [best] = guesses;
  const isSure = best !== undefined && best.confidence >= CONFIDENCE_MIN;
  if (isSure && PAIRED.has(best.label) && isValid(sample, best.label)) return best.label;
  const script = findScript(sample);
  if (script !== undefined) return script;
  return (isSure ? OTHER_LATIN[best.label] : undefined) ?? WESTERN;
}

/** Whether the bytes are valid in an encoding, except for a character that the sample cuts. */
function isValid(sample: Uint8Array, label: string): boolean {
  try {
    new TextDecoder(label, { fatal: true }).decode(sample, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Finds the encoding in which text of another script consists of that script's frequent letters, in lower case. */
function findScript(sample: Uint8Array): string | undefined {
  if (!isForeign(sample)) return undefined;
  let best: { readonly label: string; readonly share: number } | undefined;
  for (const [encodings, letters] of SCRIPTS)
    for (const label of encodings) {
      const share = shareOf(sample, label, letters);
      if (share >= FREQUENT_SHARE_MIN && share > (best?.share ?? 0)) best = { label, share };
    }
  return best?.label;
}

/** Whether most letters are outside ASCII. */
function isForeign(sample: Uint8Array): boolean {
  let [foreign, ascii] = [0, 0];
  for (const byte of sample)
    if (byte >= 0x80) foreign += 1;
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) ascii += 1;
  return foreign >= FOREIGN_LETTERS_MIN && foreign / (foreign + ascii) >= FOREIGN_SHARE_MIN;
}

/** The share of the bytes outside ASCII that are some letters in an encoding. */
function shareOf(sample: Uint8Array, label: string, letters: string): number {
  const foreign = sample.reduce((sum, byte) => sum + (byte >= 0x80 ? 1 : 0), 0);
  const text = new TextDecoder(label).decode(sample);
  return [...text].filter((letter) => letters.includes(letter)).length / foreign;
}
