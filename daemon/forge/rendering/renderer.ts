// daemon/forge/rendering: texts of people as safe HTML (forge behaviour, 18).
// May import: daemon/contract, daemon/errors.ts, daemon/forge, daemon/jobs/worker-url.ts, the libraries of its folders.
// Start here (a text becomes HTML), then rendering.service.ts (where it is done) and rendering.routes.ts (who asks).
import type { MarkdownIt } from "markdown-it";
import { toRenderContext } from "./context.ts";
import { renderNotebook } from "./formats/notebook.ts";
import { renderTable } from "./formats/table.ts";
import { createEmoji } from "./html/emoji.ts";
import { escapeText } from "./html/flat.ts";
import { normalise } from "./html/normalise.ts";
import { postProcess, type Heading } from "./html/post-process.ts";
import { createSanitizer } from "./html/sanitize.ts";
import {
  HTML_LENGTH_MAX,
  LINES_MAX,
  MARKS_MAX,
  RenderLimitError,
  TEXT_BYTES_MAX,
} from "./limits.ts";
import { createEngine } from "./markdown/engine.ts";
import { createDialect, toEnv } from "./markdown/env.ts";
import { renderFrontMatter, splitFrontMatter } from "./markdown/front-matter.ts";
import { toFormat, type Format, type RenderMode } from "./modes.ts";

/** One text and everything that its HTML depends on. */
export interface RenderInput {
  readonly text: string;
  readonly mode: RenderMode;
  /** The instance's public address, with a slash at its end. */
  readonly root: string;
  /** Address path of the repository, perhaps at a ref; empty when there is none. */
  readonly context: string;
  /** Path of the file in its repository; its name says the format in mode `file`. */
  readonly filePath: string;
  /** Names, in lower case, of the users and organizations that may be mentioned. */
  readonly mentionable: readonly string[];
}

export type Rendered =
  | { readonly kind: "rendered"; readonly html: string }
  /** Mode `file`, and nothing here shows files of that name. */
  | { readonly kind: "unsupported" }
  /** The text passes a documented limit; `message` says which. */
  | { readonly kind: "over_limit"; readonly message: string };

export interface Renderer {
  /** The same input gives the same HTML. Never throws for what is in the text. */
  render(input: RenderInput): Promise<Rendered>;
}

export interface RendererOptions {
  /** What marks the engine's own classes between rendering and sanitizing; unknown to those who write texts. */
  readonly secret: string;
  /** Whether the answer carries what only pages need: `dir`, `loading`, marks on generated links (18.4). */
  readonly decorates: boolean;
}

/** A renderer of all formats. Making one takes some milliseconds; each keeps what it has learnt of tags. */
export function createRenderer({ secret, decorates }: RendererOptions): Renderer {
  const protectedClass = (names: string) => `data-attr-class="${secret}${names}"`;
  const plainClass = (names: string) => `class="${names}"`;
  const engines: Record<"soft" | "hard", MarkdownIt> = {
    soft: createEngine({ breaks: false }),
    hard: createEngine({ breaks: true }),
  };
  const emojiOf = createEmoji(protectedClass);
  const protectedSanitizer = createSanitizer({ kind: "protected", secret });
  const plainSanitizer = createSanitizer({ kind: "author" });

  const renderMarkdown = (text: string, input: RenderInput): string => {
    const isRaw = input.mode === "markdown";
    const className = isRaw ? plainClass : protectedClass;
    const matter = splitFrontMatter(text);
    const dialect = createDialect({
      className,
      decorates,
      footnoteSuffix: input.mode === "comment" ? "-preview" : "",
      source: matter.body,
      bytesBefore: Buffer.byteLength(matter.head),
    });
    const head = renderFrontMatter(matter, dialect);
    const engine = engines[input.mode === "comment" ? "hard" : "soft"];
    const html = bounded(head + engine.render(matter.body, toEnv(dialect)));
    // Without markup of an author the engine's output is flat already.
    if (isRaw)
      return plainSanitizer.sanitize(
        inLanguage(matter.language, dialect.hasRawHtml ? normalise(html) : html),
        "html",
      );
    const done = finish(dialect.hasRawHtml ? normalise(escapeActiveTags(html)) : html, input);
    const contents =
      matter.hasContents && input.mode !== "comment" ? renderContents(done.headings) : "";
    return protectedSanitizer.sanitize(inLanguage(matter.language, contents + done.html), "xhtml");
  };

  const finish = (flat: string, input: RenderInput) => {
    const context = toRenderContext(input);
    return postProcess(flat, {
      context,
      hasShortReferences: input.mode === "comment" || input.mode === "wiki",
      hasHeadingIds: input.mode !== "comment",
      mentionable: new Set(input.mentionable),
      decorates,
      className: protectedClass,
      emoji: emojiOf(context.root),
    });
  };

  const renderFormat = async (
    format: Format,
    text: string,
    input: RenderInput,
  ): Promise<string> => {
    switch (format) {
      case "markdown":
        return renderMarkdown(text, input);
      case "text":
        return text === ""
          ? ""
          : sanitizeOwn(`<pre ${protectedClass("plain-text")}>${escapeText(text)}</pre>\n`);
      case "table":
        return sanitizeOwn(
          renderTable(text, { className: protectedClass, fileName: input.filePath }),
        );
      case "notebook":
        return sanitizeFinished(
          renderNotebook(text, { className: protectedClass, markdown: toCell }),
          input,
        );
      case "org": {
        const { renderOrg } = await import("./formats/org.ts");
        return sanitizeFinished(renderOrg(text, { className: protectedClass }), input);
      }
      case "asciidoc": {
        const { renderAsciidoc } = await import("./formats/asciidoc.ts");
        return sanitizeFinished(await renderAsciidoc(text, { className: protectedClass }), input);
      }
    }
  };
  const sanitizeOwn = (html: string) => protectedSanitizer.sanitize(html, "xhtml");
  const sanitizeFinished = (html: string, input: RenderInput) =>
    sanitizeOwn(finish(normalise(escapeActiveTags(bounded(html))), input).html);
  const toCell = (text: string): string =>
    engines.soft.render(
      text,
      toEnv(
        createDialect({
          className: protectedClass,
          decorates,
          footnoteSuffix: "",
          source: text,
          bytesBefore: 0,
        }),
      ),
    );

  return {
    async render(input) {
      const format = input.mode === "file" ? toFormat(input.filePath) : "markdown";
      if (format === undefined) return { kind: "unsupported" };
      try {
        assertBounds(input.text, format);
        if (input.text === "") return { kind: "rendered", html: "" };
        const isRaw = input.mode === "markdown";
        // Raw mode leaves NUL to the parser, which shows that something was there.
        const text = (isRaw ? input.text : input.text.replaceAll("\0", "")).replace(/\r\n?/g, "\n");
        return { kind: "rendered", html: bounded(await renderFormat(format, text, input)) };
      } catch (error) {
        if (error instanceof RenderLimitError)
          return { kind: "over_limit", message: error.message };
        // A library that calls itself for each level: the text, not the library, is to blame.
        if (error instanceof RangeError && /call stack/.test(error.message))
          return { kind: "over_limit", message: "elements nest too deep" };
        throw error;
      }
    },
  };
}

/** Checked between the steps too: none should work on what will not be answered. */
function bounded(html: string): string {
  if (html.length > HTML_LENGTH_MAX)
    throw new RenderLimitError("the rendered document is too large");
  return html;
}

function inLanguage(language: string | undefined, html: string): string {
  return language === undefined || !/^[A-Za-z0-9-]{1,35}$/.test(language)
    ? html
    : `<div lang="${language}">${html}</div>`;
}

/**
 * Tags that a browser would act on before all others become text, and so does what only looks like a tag (18.5).
 */
function escapeActiveTags(html: string): string {
  return html.includes("<")
    ? html.replace(
        /<(?=\/?(?:script|style|html|head)\b|[?%]|\/?\w{1,60}\/\w|\/[\w ]{1,60}\/)/gi,
        "&lt;",
      )
    : html;
}

function renderContents(headings: readonly Heading[]): string {
  if (headings.length === 0) return "";
  const top = Math.min(...headings.map(({ level }) => level));
  let out = "<details><summary>Table of Contents</summary>";
  let depth = 0;
  for (const { level, id, text } of headings) {
    const target = level - top + 1;
    for (; depth < target; depth += 1) out += "<ul>\n";
    for (; depth > target; depth -= 1) out += "</ul>\n";
    out += `<li><a href="#${escapeText(id)}">${escapeText(text)}</a></li>\n`;
  }
  return `${out}${"</ul>\n".repeat(depth)}</details>`;
}

function assertBounds(text: string, format: Format): void {
  if (text.length > TEXT_BYTES_MAX || Buffer.byteLength(text) > TEXT_BYTES_MAX)
    throw new RenderLimitError("the text is too large");
  if (format === "text" || format === "table" || format === "notebook") return;
  let marks = 0;
  let lines = 0;
  for (let at = 0; at < text.length; at += 1) {
    const weight = weights[text.charCodeAt(at)];
    if (weight === MARK) marks += 1;
    else if (weight === LINE_END) lines += 1;
  }
  if (marks > MARKS_MAX) throw new RenderLimitError("the text has too much markup");
  if (lines > LINES_MAX) throw new RenderLimitError("the text has too many lines");
}

const MARK = 1;
const LINE_END = 2;

/** What a character counts as: by its code, nothing for those beyond ASCII. */
const weights = new Uint8Array(0x80);
for (const mark of "[]*_~`<!$|") weights[mark.charCodeAt(0)] = MARK;
for (const end of "\r\n") weights[end.charCodeAt(0)] = LINE_END;
