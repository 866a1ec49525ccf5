/** How a text is rendered. `code`, for pages only: the text is code as a whole, in a language. */
export type RenderMode = "markdown" | "gfm" | "comment" | "wiki" | "file" | "code";

/** Format of a file, by its name. */
export type Format = "markdown" | "org" | "asciidoc" | "table" | "notebook" | "text";

/** One text and everything that its HTML depends on. */
export interface RenderInput {
  readonly text: string;
  readonly mode: RenderMode;
  /** The instance's public address, with a trailing slash. */
  readonly root: string;
  /** Address path of the repository, optionally with a ref; empty when unknown. */
  readonly context: string;
  /** Path of the file in its repository; its extension is the format in mode `file`. */
  readonly filePath: string;
  /** Lower-case names of the users and organizations that may be mentioned. */
  readonly mentionable: readonly string[];
  /** Whether a heading with the text of an earlier one gets an id of its own: `usage`, `usage-1`. */
  readonly hasUniqueIds?: boolean;
  /** The language of mode `code`: a name or an extension. */
  readonly language?: string;
}

export type Rendered =
  | { readonly kind: "rendered"; readonly html: string }
  /** Mode `file` with an unknown extension. */
  | { readonly kind: "unsupported" }
  /** The text exceeds a documented limit, which `message` names for the client. */
  | { readonly kind: "over_limit"; readonly message: string };

export interface RendererOptions {
  /** Prefix that marks the renderer's own classes until the document is sanitized; authors must not know it. */
  readonly secret: string;
  /** Whether to write the attributes that only pages need: `dir`, `loading`, marks of generated links. */
  readonly decorates: boolean;
}

/** The modes that requests name. */
const modes: ReadonlySet<string> = new Set<RenderMode>([
  "markdown",
  "gfm",
  "comment",
  "wiki",
  "file",
]);

/** Returns the mode of a request, undefined for an unknown name. An empty name is `markdown`. */
export function toMode(name: string, isWiki: boolean): RenderMode | undefined {
  if (isWiki) return "wiki";
  if (name === "") return "markdown";
  return modes.has(name) ? (name as RenderMode) : undefined;
}

const formats: Readonly<Record<string, Format>> = {
  md: "markdown",
  markdown: "markdown",
  mdown: "markdown",
  mkd: "markdown",
  livemd: "markdown",
  org: "org",
  adoc: "asciidoc",
  asciidoc: "asciidoc",
  asc: "asciidoc",
  csv: "table",
  tsv: "table",
  ipynb: "notebook",
  txt: "text",
};

/** Returns the format of a file by its extension, in any case; undefined for an unknown extension. */
export function toFormat(filePath: string): Format | undefined {
  const name = filePath.slice(filePath.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  const extension = dot === -1 ? "" : name.slice(dot + 1);
  return Object.hasOwn(formats, extension) ? formats[extension] : undefined;
}

/** Maximum size of a text in bytes of UTF-8. */
export const TEXT_BYTES_MAX = 2 * 1024 * 1024;

/** Maximum length of the HTML in characters. */
export const HTML_LENGTH_MAX = 3 * 8 * 1024 * 1024;

/** Maximum length of a line of a file in colours, in characters: grammars may take quadratic time for a line. */
export const COLOURED_LINE_MAX = 2_000;

/** Maximum number of characters in one document that may open markup: the parser searches for the end of each. */
export const MARKUP_CHARACTERS_MAX = 300_000;

/** Maximum number of lines of a parsed document: each may become several elements. */
const LINES_MAX = 60_000;

/** Maximum nesting of elements. Browsers stop at 512; the parsers search their stacks linearly. */
export const DEPTH_MAX = 400;

/** A document exceeds a documented limit; `message` names it and is safe for the client. */
export class RenderLimitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RenderLimitError";
  }
}

const markupCharacters = new Set([..."[]*_~`<!$|"].map((character) => character.charCodeAt(0)));

/** Throws `RenderLimitError` for a text that is too large to be parsed. */
export function assertTextLimits(text: string, format: Format): void {
  if (text.length > TEXT_BYTES_MAX || Buffer.byteLength(text) > TEXT_BYTES_MAX)
    throw new RenderLimitError("the text is too large");
  if (format === "text" || format === "table" || format === "notebook") return;
  let markup = 0;
  let lines = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (markupCharacters.has(code)) markup += 1;
    else if (code === 0x0a || code === 0x0d) lines += 1;
  }
  if (markup > MARKUP_CHARACTERS_MAX) throw new RenderLimitError("the text has too much markup");
  if (lines > LINES_MAX) throw new RenderLimitError("the text has too many lines");
}

/** Returns `html`; throws `RenderLimitError` when it is too long. */
export function assertHtmlLength(html: string): string {
  if (html.length > HTML_LENGTH_MAX)
    throw new RenderLimitError("the rendered document is too large");
  return html;
}
