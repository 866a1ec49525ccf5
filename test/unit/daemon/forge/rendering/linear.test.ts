import { describe, expect, test } from "vitest";
import { MARKS_MAX, TEXT_BYTES_MAX } from "../../../../../daemon/forge/rendering/limits.ts";
import { plainRenderer, root } from "./support.ts";

const repeat = (unit: string, length: number) =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
const floods: Readonly<Record<string, (length: number) => string>> = {
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

/** Seconds of processor time that rendering takes, or undefined when a limit refuses the text. */
async function secondsOf(text: string): Promise<number | undefined> {
  const before = process.cpuUsage();
  const rendered = await plainRenderer.render({
    text,
    mode: "comment",
    root,
    context: "/o/r",
    filePath: "",
    mentionable: ["a"],
  });
  const { user, system } = process.cpuUsage(before);
  return rendered.kind === "rendered" ? (user + system) / 1e6 : undefined;
}

describe("hostile text costs time in proportion to its length", () => {
  // Ten times as long takes about ten times as long: a hundred times would be quadratic. Thirty
  // leaves room for the machine, and what is counted is processor time, so that it does not matter who else is at work.
  test.each(Object.entries(floods))("%s", async (_name, flood) => {
    await secondsOf(flood(3_000));
    const short = await secondsOf(flood(3_000));
    const long = await secondsOf(flood(30_000));
    expect(long ?? 0).toBeLessThan(30 * Math.max(short ?? 0, 0.005));
  });
});

describe("what passes a documented limit is refused", () => {
  const kindOf = async (text: string, filePath = "a.md") =>
    (
      await plainRenderer.render({
        text,
        mode: "file",
        root,
        context: "",
        filePath,
        mentionable: [],
      })
    ).kind;

  test("in bytes, in marks, in lines, in depth", async () => {
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX))).toBe("rendered");
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX + 1))).toBe("over_limit");
    expect(await kindOf("é".repeat(TEXT_BYTES_MAX / 2 + 1))).toBe("over_limit");
    expect(await kindOf("[".repeat(MARKS_MAX + 1))).toBe("over_limit");
    expect(await kindOf("\n".repeat(60_001))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(401))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(300))).toBe("rendered");
  });

  test("in HTML: a long address that is named many times", async () => {
    expect(
      await kindOf(`[a]: http://a.example/${"x".repeat(200_000)}\n\n${"[a] ".repeat(20_000)}`),
    ).toBe("over_limit");
  });

  test("a file that is not parsed as text may have as many lines as it likes", async () => {
    expect(await kindOf("a\n".repeat(100_000), "a.txt")).toBe("rendered");
    expect(await kindOf("a,b\n".repeat(100_000), "a.csv")).toBe("rendered");
  });
});
