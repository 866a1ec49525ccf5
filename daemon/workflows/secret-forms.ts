/** Minimum length of secrets that are searched for in base64: shorter ones would match too much. */
const ENCODED_BYTES_MIN = 5;

/** Returns the forms of a secret inside other texts: JSON, URLs and base64. */
export function toEncodedForms(secret: string): readonly string[] {
  const trimmed = secret.trim();
  if (trimmed === "" || /^\**$/.test(trimmed)) return [];
  const json = JSON.stringify(trimmed).slice(1, -1);
  const percent = encodeURIComponent(trimmed.toWellFormed());
  const bytes = Buffer.from(trimmed);
  const encoded =
    bytes.length < ENCODED_BYTES_MIN ? [] : [0, 1, 2].flatMap((at) => toBase64(bytes, at));
  const quoted = [
    json,
    // Escaped as by programs that write ASCII only, such as those in Python.
    json.replaceAll(/[\u007f-\uffff]/g, toUnicodeEscape),
    percent,
    // Several languages keep slashes in a path, and forms have a plus for a blank.
    percent.replaceAll("%2F", "/"),
    percent.replaceAll("%20", "+"),
  ];
  return [...quoted.filter((form) => form !== trimmed), ...encoded];
}

const toUnicodeEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Returns the characters that a secret has in base64 when `before` bytes modulo 3 precede it, in both alphabets. */
function toBase64(bytes: Buffer, before: number): string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
  // The first and the last character may depend on the neighbours.
  const start = Math.ceil((before * 8) / 6);
  const end = Math.floor(((before + bytes.length) * 8) / 6);
  const form = text.slice(start, end);
  return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
}
