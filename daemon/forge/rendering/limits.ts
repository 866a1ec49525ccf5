/** The largest text that is rendered, in bytes of UTF-8: a document beyond it is data, not something to read. */
export const TEXT_BYTES_MAX = 2 * 1024 * 1024;

/** The largest HTML that is answered, in characters (forge behaviour, 18.1: three times 8 MiB). */
export const HTML_LENGTH_MAX = 3 * 8 * 1024 * 1024;

/** Marks that may open something (brackets, emphasis, tags) in one document: each costs a parser a look around. */
export const MARKS_MAX = 300_000;

/** Lines in one document that is parsed: each may be a row, an item or a paragraph, and becomes several elements. */
export const LINES_MAX = 60_000;

/** A document that passes a documented limit; `message` says which and is safe for the client. */
export class RenderLimitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RenderLimitError";
  }
}
