import type { MarkdownIt, RendererRule } from "markdown-it";
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
  const topLevelWithDirection: RendererRule = (tokens, index, options, env, renderer) =>
    tokens[index]?.level === 0
      ? withDirection(tokens, index, options, env, renderer)
      : renderer.renderToken(tokens, index, options);
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

  rules["html_block"] = authors;
  rules["html_inline"] = authors;
  rules["paragraph_open"] = withDirection;
  rules["bullet_list_open"] = topLevelWithDirection;
  rules["ordered_list_open"] = topLevelWithDirection;
  rules["th_open"] = withAlign;
  rules["td_open"] = withAlign;
}
