// cli/output: everything that is printed as a result: tables, rows, JSON and its kin, times and sizes.
// May import: errors, flags, io, and of the packages string-width, yaml and a jq engine, each when it is used.
// Pure functions except output.ts, which writes. Start with output.ts.

/**
 * Sequences that a terminal acts on: OSC and the other string sequences up to their end (or the line's), CSI and
 * two-character escapes, and their 8-bit forms.
 */
const sequences =
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;

/** Other control characters (tab and line feed stay), and what changes the direction of text or hides in it. */
const invisible =
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** Text from elsewhere, made safe for a terminal: it cannot move the cursor, recolour, retitle or reorder. */
export function toVisible(text: string): string {
  return text.replace(sequences, "").replace(invisible, "");
}

/** The same on one line. */
export function toVisibleLine(text: string): string {
  return toVisible(text.replace(/\s*[\t\r\n]+\s*/g, " "));
}

/** A field of a tab-separated row: tab, line ends and backslash as `\t`, `\n`, `\r`, `\\`, so that it can be undone. */
export function toRowField(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => rowEscapes[character] ?? character);
}

const rowEscapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};
