import type { MarkdownIt, RendererRule, Token } from "markdown-it";
import { dialectOf } from "./env.ts";

/** Paragraphs, lists and tables as the reference writes them; HTML of the author as it is, but noticed. */
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

  const authors: RendererRule = (tokens, index, _options, env) => {
    dialectOf(env).hasRawHtml = true;
    return tokens[index]?.content ?? "";
  };

  engine.core.ruler.push("direction", ({ tokens, env }) => {
    if (dialectOf(env).decorates) direct(tokens);
  });

  rules["html_block"] = authors;
  rules["html_inline"] = authors;
  rules["paragraph_open"] = withDirection;
  rules["th_open"] = withAlign;
  rules["td_open"] = withAlign;
}

/** Blocks whose rules write them themselves: a line of their own below the text of a tight list, as all others have. */
export function ownLines(engine: MarkdownIt): void {
  const { rules } = engine.renderer;
  for (const name of ["blockquote_open", "code_block", "fence", "html_block", "math_block"]) {
    const rule = rules[name];
    if (rule === undefined) continue;
    rules[name] = (tokens, index, ...rest) =>
      (tokens[index - 1]?.hidden === true ? "\n" : "") + rule(tokens, index, ...rest);
  }
}

/** Lists that are in no other list, and what a quote begins with, have a direction, as in the reference. */
function direct(tokens: readonly Token[]): void {
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
