import { Parser } from "htmlparser2";

/**
 * HTML in one spelling, so that two renderings compare by what they mean: attributes sorted, entities decoded, blanks
 * around blocks removed. Croft's own additions are left out on both sides: `rel` of links and the frame of code.
 */
export function toCanonicalHtml(html: string): string {
  let out = "";
  let text = "";
  let preformatted = 0;
  const flush = () => {
    out += preformatted > 0 ? text : text.replace(/\s+/g, " ");
    text = "";
  };
  new Parser(
    {
      onopentag(name, attributes) {
        flush();
        if (name === "pre") preformatted += 1;
        const others = Object.entries(attributes).filter(([attribute]) => attribute !== "rel");
        const written = others
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([key, value]) => ` ${key}="${value}"`);
        out += `<${name}${written.join("")}>`;
      },
      ontext(part) {
        text += part;
      },
      onclosetag(name) {
        flush();
        if (name === "pre") preformatted -= 1;
        out += `</${name}>`;
      },
    },
    { decodeEntities: true },
  ).end(html);
  flush();
  return out
    .replaceAll(/<div>(<pre>)/g, "$1")
    .replaceAll(/(<\/pre>)<\/div>/g, "$1")
    .replaceAll(
      / ?(<\/?(?:p|h[1-6]|ul|ol|li|blockquote|pre|hr|div|table|thead|tbody|tr|th|td|br)(?: [^>]*)?>) ?/g,
      "$1",
    )
    .trim();
}
