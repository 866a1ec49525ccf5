export type TextSink = ReturnType<typeof createTextSink>;

/** Characters of extracted text that are kept; 300 dense pages. */
const TEXT_CHARACTERS_MAX = 1_000_000;

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]+/g;

/** A place where a word may be divided, and the line break if it was. */
const SOFT_HYPHEN = /\u00ad(?:\n[ \t]*)?/g;

/** Accumulates extracted text up to a limit, without control characters and soft hyphens, and with single blank lines. */
export function createTextSink(max = TEXT_CHARACTERS_MAX) {
  const parts: string[] = [];
  let length = 0;
  let atLineStart = true;
  let isCut = false;
  return {
    /** Adds text. Returns false once the limit is reached and text was dropped, so that the extractor may stop. */
    add(text: string): boolean {
      const clean = text
        .toWellFormed()
        .replace(/\r\n?/g, "\n")
        .replace(SOFT_HYPHEN, "")
        .replace(CONTROL, " ");
      if (clean === "") return !isCut;
      const part = clean.slice(0, max - length);
      parts.push(part);
      length += part.length;
      atLineStart = part.endsWith("\n");
      if (clean.slice(part.length).trim() !== "") isCut = true;
      return !isCut;
    },
    /** Starts a new line unless the current one is empty. */
    breakLine(): void {
      if (atLineStart || length >= max) return;
      parts.push("\n");
      length += 1;
      atLineStart = true;
    },
    /** Whether text was dropped because of the limit. */
    get isCut() {
      return isCut;
    },
    text: (): string =>
      parts
        .join("")
        .toWellFormed()
        .replace(/[^\S\n]+$/gm, "")
        .replace(/\n{3,}/g, "\n\n")
        .trim(),
  };
}
