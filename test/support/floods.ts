const repeat = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

/** Texts of about a length, by what they have too much of: each has a careless parser look around again and again. */
export const floods: Readonly<Record<string, (length: number) => string>> = {
  quotes: (length) => repeat("> ", length),
  "quoted lines": (length) => repeat(`${"> ".repeat(50)}a\n`, length),
  lists: (length) => repeat("- ", length),
  "list in quote in list": (length) => repeat("> - ", length),
  "opening brackets": (length) => repeat("[", length),
  "nested brackets": (length) => "[".repeat(length / 2) + "]".repeat(length / 2),
  "unfinished links": (length) => repeat('[a](b "c', length),
  images: (length) => repeat("![", length),
  emphasis: (length) => repeat("*a _b ", length),
  "strong emphasis": (length) => repeat("*a**", length),
  "struck text": (length) => repeat("~~a ", length),
  backticks: (length) => repeat("`a``b", length),
  comments: (length) => repeat("<!--", length),
  "character data": (length) => repeat("a<![CDATA[", length),
  "processing instructions": (length) => repeat("a<?", length),
  tags: (length) => repeat("<a ", length),
  "unfinished attributes": (length) => repeat("<a b='", length),
  "raw elements": (length) => repeat("<b></i>", length),
  "link definitions": (length) => repeat("[a]: b\n", length),
  "unfinished definitions": (length) => repeat('[a]: b "\n', length),
  references: (length) => `[a]: b\n\n${repeat("[a] ", length)}`,
  footnotes: (length) =>
    Array.from({ length: length / 24 }, (_, n) => `[^${n}]: b\n\n[^${n}]`).join("\n"),
  tables: (length) => `a|b\n-|-\n${repeat("a|b\n", length)}`,
  "wide tables": (length) =>
    `${repeat("|a", length / 4)}\n${repeat("|-", length / 4)}\n${repeat("a\n", length / 10)}`,
  dollars: (length) => repeat("$a ", length),
  "math blocks": (length) => repeat("$$\na\n", length),
  entities: (length) => repeat("&a", length),
  mentions: (length) => repeat("@a ", length),
  addresses: (length) => repeat("a@b", length),
  urls: (length) => repeat("https://a_b/)", length),
  "one url": (length) => `https://${repeat(")", length)}`,
  "short links": (length) => repeat("[[a", length),
  emoji: (length) => repeat(":a", length),
  issues: (length) => repeat("a/b#1 ", length),
  headings: (length) => repeat("# {a\n", length),
  "definition lists": (length) => repeat("a\n: b\n", length),
  "code of a language": (length) => `\`\`\`js\n${repeat('"\\', Math.min(length, 120_000))}\n\`\`\``,
  "html of a language": (length) =>
    `\`\`\`html\n${repeat("<!--<a", Math.min(length, 120_000))}\n\`\`\``,
};
