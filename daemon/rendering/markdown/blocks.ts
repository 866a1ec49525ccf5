import type { MarkdownIt, RendererRule, Token } from "markdown-it";
import { dialectOf } from "./dialect.ts";

/** Renders paragraphs, lists, headings and tables with the attributes that the reference writes. */
export function blocks(engine: MarkdownIt): void {
  const { rules } = engine.renderer;

  const withDirection: RendererRule = (tokens, index, options, env, renderer) => {
    const token = tokens[index];
    if (token !== undefined && !token.hidden && dialectOf(env).decorates)
      token.attrSet("dir", "auto");
    return renderer.renderToken(tokens, index, options);
  };
  const withAlign: RendererRule = (tokens, index, options, _env, renderer) => {
    const token = tokens[index];
    const style = /^text-align:(\w+)$/.exec(String(token?.attrGet("style") ?? ""))?.[1];
    if (token !== undefined && style !== undefined) token.attrs = [["align", style]];
    return renderer.renderToken(tokens, index, options);
  };

  engine.core.ruler.push("direction", ({ tokens, env }) => {
    if (dialectOf(env).decorates) setDirection(tokens);
  });

  rules["paragraph_open"] = withDirection;
  rules["th_open"] = withAlign;
  rules["td_open"] = withAlign;
  headingAttributes(engine);
}

/** Starts blocks of custom rules on a new line in a tight list item, as markdown-it does for its own blocks. */
export function tightBlocks(engine: MarkdownIt): void {
  const { rules } = engine.renderer;
  for (const name of ["blockquote_open", "code_block", "fence", "html_block", "math_block"]) {
    const rule = rules[name];
    if (rule === undefined) continue;
    rules[name] = (tokens, index, ...rest) =>
      (tokens[index - 1]?.hidden === true ? "\n" : "") + rule(tokens, index, ...rest);
  }
}

/** Sets the direction of outermost lists and of the first block of a quote, as the reference does. */
function setDirection(tokens: readonly Token[]): void {
  let lists = 0;
  for (const [index, token] of tokens.entries()) {
    const isList = /^(?:bullet|ordered)_list_/.test(token.type);
    const beginsQuote =
      tokens[index - 1]?.type === "blockquote_open" &&
      (isList || token.type === "heading_open" || token.type === "blockquote_open");
    if (beginsQuote || (isList && token.nesting === 1 && lists === 0)) token.attrSet("dir", "auto");
    if (isList) lists += token.nesting;
  }
}

/** Reads attributes at the end of a heading: `## Title {#id .class key=value}`. */
function headingAttributes(engine: MarkdownIt): void {
  engine.core.ruler.before("inline", "heading_attributes", ({ tokens }) => {
    for (let index = 0; index < tokens.length; index += 1) {
      const heading = tokens[index];
      if (heading?.type !== "heading_open") continue;
      const inline = tokens[index + 1];
      if (inline?.type !== "inline" || !inline.content.endsWith("}")) continue;
      const start = inline.content.lastIndexOf("{");
      const attributes =
        start === -1 ? undefined : parseAttributes(inline.content.slice(start + 1, -1));
      if (attributes === undefined) continue;
      inline.content = inline.content.slice(0, start).trimEnd();
      for (const [name, value] of attributes) heading.attrSet(name, value);
    }
  });
}

/** Parses attributes; undefined when any part of `source` is invalid. */
function parseAttributes(source: string): [name: string, value: string][] | undefined {
  if (source.length > 500 || source.trim() === "") return undefined;
  const attributes: [string, string][] = [];
  const part = /\s*(?:([#.])([\w:.-]+)|([a-z][\w-]*)=(?:"([^"]*)"|([\w.:/-]+)))(?=\s|$)/iy;
  const text = source.trimEnd();
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    if (found === null) return undefined;
    const [, mark, name = "", key, quoted, bare = ""] = found;
    if (mark !== undefined) attributes.push([mark === "#" ? "id" : "class", name]);
    else if (key !== undefined) attributes.push([key.toLowerCase(), quoted ?? bare]);
  }
  return attributes;
}
