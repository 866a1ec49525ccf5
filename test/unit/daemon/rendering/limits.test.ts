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

  test("rendering accepts any number of lines in a file that is not parsed as text", async () => {
    expect(await kindOf("a\n".repeat(100_000), "a.txt")).toBe("rendered");
    expect(await kindOf("a,b\n".repeat(100_000), "a.csv")).toBe("rendered");
  });
});
