import { convert, LoggerManager, NullLogger } from "@asciidoctor/core";
import { RenderLimitError } from "../limits.ts";

/** Asciidoctor reads a document several times over; larger ones are not documents that people write by hand. */
const LENGTH_MAX = 512 * 1024;

/** A hundred quotes in each other: Asciidoctor goes down one call for each. */
const deepQuotes = /^(?:> ?){100}/m;

/**
 * AsciiDoc as HTML that is still to be sanitized. In the `secure` mode nothing is included, read or fetched.
 * Attributes can make a short text long: only to be called where time and memory are bounded.
 */
export async function renderAsciidoc(
  text: string,
  _tools: { readonly className: (names: string) => string },
): Promise<string> {
  if (text.length > LENGTH_MAX) throw new RenderLimitError("the text is too large");
  if (deepQuotes.test(text)) throw new RenderLimitError("elements nest too deep");
  LoggerManager.setLogger(new NullLogger());
  const html: unknown = await convert(text, {
    safe: "secure",
    standalone: false,
    attributes: { showtitle: "", "source-highlighter": null, "env-croft": "" },
  });
  return typeof html === "string" ? `${html}\n` : "";
}
