// cli/output: prints results: tables, rows, JSON, YAML, CSV, templates and progress. Start with output.ts.
//
// Strings from the server, from file names and from mails may hold characters that a terminal acts on. Human formats
// remove them, because the reader of a pipe is often a terminal too. Rows, JSON and YAML keep every character as an escape.

/** OSC and the other string sequences up to their terminator or line end, CSI, two-character escapes, 8-bit forms. */
const escapeSequences =
  // oxlint-disable-next-line no-control-regex -- the pattern matches control characters
  /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;

/**
 * Control characters except tab and line feed, and format characters: bidirectional controls, zero-width characters,
 * tags. A joiner stays after a character outside ASCII, where emoji, Persian and Indic scripts need it.
 */
const controlsAndFormats =
  // oxlint-disable-next-line no-control-regex -- the pattern matches control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|(?![\u200c\u200d])\p{Cf}|(?<![^\u0000-\u007f])[\u200c\u200d]/gu;

/** Removes all characters that a terminal executes, except tab and line feed. */
export function sanitizeText(text: string): string {
  return text.replace(escapeSequences, "").replace(controlsAndFormats, "");
}

/** Removes all characters that a terminal executes, and joins the lines with spaces. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text.replace(/\s*[\t\r\n\v\f\u0085\u2028\u2029]+\s*/g, " "));
}

/**
 * Returns a line of a screen. Terminals disagree about the width of joined and modified emoji, and a line that is wider than
 * computed breaks the screen: each part stands for itself, without joiners, variation selectors and skin tones.
 */
export function toScreenLine(text: string): string {
  return sanitizeLine(text)
    .replace(/(?<=\p{Extended_Pictographic}\ufe0f?[\u{1f3fb}-\u{1f3ff}]?)\u200d/gu, "")
    .replace(/(?<=\p{Extended_Pictographic}\ufe0f?)[\u{1f3fb}-\u{1f3ff}]/gu, "")
    .replace(/[\ufe0e\ufe0f]/gu, "");
}

/**
 * Returns one field of a tab-separated row. Tab, line feed, carriage return and backslash are written as `\t`, `\n`, `\r`
 * and `\\`, and characters that a terminal acts on as `\u202e`, as JSON writes them: different names stay different, and
 * the text can be recovered.
 */
export function toRowField(text: string): string {
  return text
    .replace(/[\t\r\n\\]/g, (character) => rowEscapes[character] ?? character)
    .replace(controlsAndFormats, toUnicodeEscapes);
}

const rowEscapes: Readonly<Record<string, string>> = {
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\\": "\\\\",
};

function toUnicodeEscapes(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Characters that JSON does not require to escape but terminals or editors act on: DEL, C1, format characters, separators. */
export const unsafeInJson = /[\u007f-\u009f\u2028\u2029]|\p{Cf}/gu;

/** Returns the same JSON document with control and format characters written as `\u` escapes. */
export function escapeJson(json: string): string {
  return json.replace(unsafeInJson, toUnicodeEscapes);
}

/** Returns `value` as JSON whose control and format characters are `\u` escapes. */
export function toJson(value: unknown, indent?: number): string {
  // Undefined has no JSON; `null` keeps the output a document.
  return escapeJson(JSON.stringify(value, null, indent) ?? "null");
}
