import { convert, LoggerManager, NullLogger } from "@asciidoctor/core";
import { RenderLimitError } from "../document.ts";

/** Maximum length: Asciidoctor parses a document several times. */
const LENGTH_MAX = 512 * 1024;

/** Asciidoctor recurses once for each level of quotes. */
const deepQuotes = /^(?:> ?){100}/m;

/**
 * Renders AsciiDoc as HTML that is still to be sanitized. References to other documents lead to their source file. The `secure` mode reads no files and fetches nothing.
 * Attributes can expand a short text to a long one, so call it only with bounded time and memory.
 */
export async function renderAsciidoc(text: string, filePath: string): Promise<string> {
  if (text.length > LENGTH_MAX) throw new RenderLimitError("the text is too large");
  if (deepQuotes.test(text)) throw new RenderLimitError("elements nest too deep");
  LoggerManager.setLogger(new NullLogger());
  const html: unknown = await convert(text, {
    safe: "secure",
    standalone: false,
    attributes: {
      showtitle: "",
      "source-highlighter": null,
      "env-croft": "",
      // Asciidoctor replaces the suffix of a referenced document by this one. Documents of a project share theirs.
      relfilesuffix: /\.[^./]*$/.exec(filePath)?.[0] ?? ".adoc",
    },
  });
  return typeof html === "string" ? `${html}\n` : "";
}
