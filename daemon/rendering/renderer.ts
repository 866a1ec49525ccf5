// daemon/rendering: texts of users as safe HTML. Start here (one text), then rendering.service.ts, which runs renderers in worker
// threads; html/ cleans and links, markdown/ and formats/ read.
import type { MarkdownIt } from "markdown-it";
import {
  assertHtmlLength,
  assertTextLimits,
  RenderLimitError,
  toFormat,
  type Format,
  type Rendered,
  type RendererOptions,
  type RenderInput,
} from "./document.ts";
import { renderNotebook } from "./formats/notebook.ts";
import { renderOrg } from "./formats/org.ts";
import { renderTable } from "./formats/table.ts";
import { createEmoji } from "./html/emoji.ts";
import { escapeHtml } from "./html/escape.ts";
import { createHeldCode, type HeldCode, withoutPlaceholders } from "./html/held-code.ts";
import { toRenderContext } from "./html/links.ts";
import { postProcess, type Heading } from "./html/post-process.ts";
import { createSanitizer } from "./html/sanitize.ts";
import { toCodeBlock } from "./markdown/code.ts";
import { toEnv } from "./markdown/dialect.ts";
import { createEngine } from "./markdown/engine.ts";
import { renderFrontMatter, splitFrontMatter } from "./markdown/front-matter.ts";
import { createFileHighlighting, createHighlighting } from "./markdown/highlight.ts";

/** Creates a renderer. Use it in a worker thread, with bounded time and memory. */
export function createRenderer({ secret, decorates }: RendererOptions) {
  const protectedClass = (names: string) => `data-attr-class="${secret}${names}"`;
  const plainClass = (names: string) => `class="${names}"`;
  const engines: Record<"soft" | "hard", MarkdownIt> = {
    soft: createEngine({ breaks: false }),
    hard: createEngine({ breaks: true }),
  };
  const emojiOf = createEmoji(protectedClass);
  const sanitizeProtected = createSanitizer({ kind: "protected", secret });
  const sanitizeAuthored = createSanitizer({ kind: "author" });

  const renderMarkdown = (text: string, input: RenderInput): string => {
    const isRaw = input.mode === "markdown";
    const className = isRaw ? plainClass : protectedClass;
    const held = createHeldCode();
    const matter = splitFrontMatter(text);
    const dialect = {
      className,
      decorates,
      footnoteSuffix: input.mode === "comment" ? "-preview" : "",
      highlighting: createHighlighting(held.hold),
      source: matter.body,
      bytesBefore: Buffer.byteLength(matter.head),
    };
    const engine = engines[input.mode === "comment" ? "hard" : "soft"];
    const head = renderFrontMatter(matter, dialect);
    const html = assertHtmlLength(head + engine.render(matter.body, toEnv(dialect)));
    if (isRaw) return sanitizeAuthored(inLanguage(matter.language, html), "html", held);
    const done = finish(html, input);
    const contents =
      matter.hasContents && input.mode !== "comment" ? renderContents(done.headings) : "";
    return sanitizeProtected(inLanguage(matter.language, contents + done.html), "xhtml", held);
  };

  const finish = (html: string, input: RenderInput, format: Format = "markdown") => {
    const context = toRenderContext(input);
    return postProcess(escapeActiveTags(assertHtmlLength(html)), {
      context,
      hasShortReferences: input.mode === "comment" || input.mode === "wiki",
      hasHeadingIds: input.mode !== "comment",
      // Gitea's API gives equal headings of Markdown equal ids.
      hasUniqueIds: input.hasUniqueIds === true || format !== "markdown",
      mentionable: new Set(input.mentionable),
      decorates,
      className: protectedClass,
      emoji: emojiOf(context.root),
      embedded: secret,
    });
  };

  const renderFormat = async (
    format: Format,
    text: string,
    input: RenderInput,
  ): Promise<string> => {
    const held = createHeldCode();
    const tools = { className: protectedClass, highlighting: createHighlighting(held.hold) };
    const finished = (html: string) =>
      sanitizeProtected(finish(html, input, format).html, "xhtml", held);
    switch (format) {
      case "markdown":
        return renderMarkdown(text, input);
      case "text":
        return text === ""
          ? ""
          : sanitizeProtected(
              `<pre ${protectedClass("plain-text")}>${escapeHtml(text)}</pre>\n`,
              "xhtml",
            );
      case "table":
        return sanitizeProtected(
          renderTable(text, { className: protectedClass, fileName: input.filePath }),
          "xhtml",
        );
      case "notebook":
        return finished(
          renderNotebook(text, {
            ...tools,
            markdown: (cell) => renderCell(cell, held),
            embedded: secret,
          }),
        );
      case "org":
        return finished(renderOrg(text, tools));
      case "asciidoc": {
        // Loaded only for AsciiDoc files: the library takes 200 ms and 30 MiB.
        const { renderAsciidoc } = await import("./formats/asciidoc.ts");
        return finished(await renderAsciidoc(text, input.filePath));
      }
    }
  };

  /** Renders a text that is code as a whole. */
  const renderCode = (text: string, language = ""): string => {
    const held = createHeldCode();
    const tools = { className: plainClass, highlighting: createFileHighlighting(held.hold) };
    const html = toCodeBlock(tools, text.replace(/\n?$/, "\n"), language);
    return sanitizeAuthored(html, "html", held);
  };

  const renderCell = (text: string, held: HeldCode): string => {
    const dialect = { className: protectedClass, decorates, footnoteSuffix: "", bytesBefore: 0 };
    const highlighting = createHighlighting(held.hold);
    return engines.soft.render(text, toEnv({ ...dialect, highlighting, source: text }));
  };

  return {
    /** Renders a text of any format as safe HTML. Deterministic; throws only for bugs. */
    async render(input: RenderInput): Promise<Rendered> {
      const format = toFormatOf(input);
      if (format === undefined) return { kind: "unsupported" };
      try {
        assertTextLimits(input.text, format);
        const text = withoutPlaceholders(input.text)
          .replace(/^\uFEFF/, "") // a byte order mark, which Windows programs write
          .replaceAll("\0", "")
          .replace(/\r\n?/g, "\n");
        if (text === "") return { kind: "rendered", html: "" };
        const html = assertHtmlLength(
          input.mode === "code"
            ? renderCode(text, input.language)
            : await renderFormat(format, text, input),
        );
        return { kind: "rendered", html };
      } catch (error) {
        if (error instanceof RenderLimitError)
          return { kind: "over_limit", message: error.message };
        // Libraries recurse for each level of nesting.
        if (error instanceof RangeError && /call stack/.test(error.message))
          return { kind: "over_limit", message: "elements nest too deep" };
        throw error;
      }
    },
  };
}

/** Returns the format of a text; undefined for a file of an unknown one. Code has the limits of plain text. */
function toFormatOf({ mode, filePath }: RenderInput): Format | undefined {
  if (mode === "code") return "text";
  return mode === "file" ? toFormat(filePath) : "markdown";
}

function inLanguage(language: string | undefined, html: string): string {
  return language === undefined || !/^[A-Za-z0-9-]{1,35}$/.test(language)
    ? html
    : `<div lang="${language}">${html}</div>`;
}

/** Escapes tags that change how a browser parses the rest, and text that resembles a tag. */
function escapeActiveTags(html: string): string {
  return html.replace(
    /<(?=\/?(?:script|style|html|head)\b|[?%]|\/?\w{1,60}\/\w|\/[\w ]{1,60}\/)/gi,
    "&lt;",
  );
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
    out += `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>\n`;
  }
  return `${out}${"</ul>\n".repeat(depth)}</details>`;
}
