const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** The text within quotes, with escapes: visible ASCII, blanks and tabs, so that the value fits into a header. */
const QUOTED = String.raw`"(?:[\t !#-\[\]-~]|\\[\t -~])*"`;
const MEDIA_TYPE = new RegExp(
  String.raw`^${TOKEN}/${TOKEN}(?:[ \t]*;[ \t]*${TOKEN}=(?:${TOKEN}|${QUOTED}))*$`,
);
/** Longer than any registered type with its parameters. */
const CHARACTERS_MAX = 255;

/** The type of bytes of which nothing is known. */
export const UNKNOWN_MEDIA_TYPE = "application/octet-stream";

/** Returns whether a text is a media type (RFC 9110, 8.3.1), such as `text/plain; charset=utf-8`. Then it fits into a header. */
export function isMediaType(text: string): boolean {
  return text.length <= CHARACTERS_MAX && MEDIA_TYPE.test(text);
}

/** Returns a media type that a client or a provider sent; undefined when it is missing or invalid. */
export function toMediaType(text: string | undefined): string | undefined {
  return text !== undefined && isMediaType(text) ? text : undefined;
}
