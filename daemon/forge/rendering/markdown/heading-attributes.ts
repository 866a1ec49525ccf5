import type { MarkdownIt } from "markdown-it";

/** Attributes at the end of a heading: `## Title {#id .class key=value}`. */
export function headingAttributes(engine: MarkdownIt): void {
  engine.core.ruler.before("inline", "heading_attributes", ({ tokens }) => {
    for (let index = 0; index < tokens.length; index += 1) {
      const heading = tokens[index];
      if (heading?.type !== "heading_open") continue;
      const inline = tokens[index + 1];
      if (inline?.type !== "inline" || !inline.content.endsWith("}")) continue;
      const start = inline.content.lastIndexOf("{");
      const attributes = start === -1 ? undefined : parse(inline.content.slice(start + 1, -1));
      if (attributes === undefined) continue;
      inline.content = inline.content.slice(0, start).trimEnd();
      for (const [name, value] of attributes) heading.attrSet(name, value);
    }
  });
}

/** All of it must be attributes, or none of it is. */
function parse(source: string): [name: string, value: string][] | undefined {
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
