import { describe, expect, test } from "vitest";
import { MARKUP_CHARACTERS_MAX, TEXT_BYTES_MAX } from "../../../../daemon/rendering/document.ts";
import { plainRenderer, root } from "./support.ts";

describe("documented limits", () => {
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

  test("rendering refuses texts with too many bytes, markup characters, lines or levels", async () => {
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX))).toBe("rendered");
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX + 1))).toBe("over_limit");
    expect(await kindOf("é".repeat(TEXT_BYTES_MAX / 2 + 1))).toBe("over_limit");
    expect(await kindOf("[".repeat(MARKUP_CHARACTERS_MAX + 1))).toBe("over_limit");
    expect(await kindOf("\n".repeat(60_001))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(401))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(300))).toBe("rendered");
  });

  test("rendering refuses a text that refers to a long URL many times", async () => {
    expect(
      await kindOf(`[a]: http://a.example/${"x".repeat(200_000)}\n\n${"[a] ".repeat(20_000)}`),
    ).toBe("over_limit");
  });

  test("rendering refuses nesting for which a library recurses", async () => {
    for (const count of [500, 25_000])
      expect(await kindOf("> ".repeat(count), "a.adoc")).toBe("over_limit");
  });

  test("code as a whole has colours and the limits of plain text, and its text stays text", async () => {
    const show = async (text: string, language: string) => {
      const input = { text, language, mode: "code", root: "", context: "", filePath: "" } as const;
      const rendered = await plainRenderer.render({ ...input, mentionable: [] });
      return rendered.kind === "rendered" ? rendered.html : rendered.kind;
    };
    expect(await show("const a = 1;\r\n\n", "ts")).toContain('<span class="kd">const</span>');
    expect(await show(`const a = 1;${"\n".repeat(61_000)}`, "ts")).toContain('<span class="kd">');
    expect(await show("[".repeat(MARKUP_CHARACTERS_MAX + 1), "")).toMatch(/^<div/);
    expect(await show("x".repeat(TEXT_BYTES_MAX + 1), "ts")).toBe("over_limit");
    for (const language of ["ts", "html", "none", '"><img src=x onerror=a()>', "mermaid"]) {
      const html = await show("</code></pre><script>a()</script><img src=x onerror=a()>", language);
      expect(html).not.toMatch(/<(?!\/?(?:div|pre|code|span)[ >])|="[^"]*onerror/);
    }
  });

  test("rendering accepts any number of lines in a file that is not parsed as text", async () => {
    expect(await kindOf("a\n".repeat(100_000), "a.txt")).toBe("rendered");
    expect(await kindOf("a,b\n".repeat(100_000), "a.csv")).toBe("rendered");
  });
});
