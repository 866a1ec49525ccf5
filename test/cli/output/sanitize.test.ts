import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  toRowField,
  sanitizeText,
  toScreenLine,
  sanitizeLine,
} from "../../../cli/output/sanitize.ts";
import { cases } from "../../support/property.ts";

// oxlint-disable-next-line no-control-regex -- the pattern matches characters that must be removed
const acted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe("escape sequences from the server", () => {
  test.each([
    ["colours", "\u001b[31mred\u001b[0m", "red"],
    ["a moved cursor", "a\u001b[2J\u001b[Hb", "ab"],
    ["a window title ended by BEL", "\u001b]0;owned\u0007x", "x"],
    ["a link ended by ST", "\u001b]8;;http://evil\u001b\\x\u001b]8;;\u001b\\", "x"],
    ["a string that never ends", "x\u001b]52;c;AAAA", "x"],
    ["an APC string", "\u001b_Gpayload\u001b\\x", "x"],
    ["8-bit CSI", "\u009b31mx", "x"],
    ["8-bit OSC", "\u009d0;t\u009cx", "x"],
    ["a two-character escape", "\u001bcx", "x"],
    ["a carriage return that overwrites", "safe\rEVIL", "safeEVIL"],
    ["backspaces", "abc\b\b\bx", "abcx"],
    ["text turned around", "a\u202egpj.exe", "agpj.exe"],
    ["isolates", "\u2066a\u2069", "a"],
  ])("cannot do anything: %s", (_what, given, shown) => {
    expect(sanitizeText(given)).toBe(shown);
  });

  test("removes everything that a terminal acts on", () => {
    const nasty = fc.string({
      unit: fc.oneof(
        fc.constantFrom(
          "\u001b",
          "[",
          "]",
          "\u0007",
          "\u009b",
          "\u009d",
          "\u009c",
          "\\",
          ";",
          "m",
          "\u202e",
          "\n",
          "\t",
        ),
        fc.string({ minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(nasty, (text) => {
        expect(sanitizeText(text)).not.toMatch(acted);
        expect(sanitizeLine(text)).not.toMatch(/[\r\n\t]/);
      }),
      cases(2000),
    );
  });

  test("ordinary text stays: umlauts, emoji, right-to-left letters", () => {
    expect(sanitizeText("Größe 👩‍👩‍👧 שלום")).toBe("Größe 👩‍👩‍👧 שלום");
  });
});

test("names that differ by a character without a glyph differ in a row", () => {
  expect(toRowField("a\u202egpj.exe")).toBe("a\\u202egpj.exe");
  expect(toRowField("agpj.exe")).toBe("agpj.exe");
  expect(toRowField("a\\b")).toBe("a\\\\b");
});

test("a row field can be undone", () => {
  const undo = (field: string) =>
    field.replace(/\\(u([0-9a-f]{4})|.)/g, (_, letter: string, unit: string | undefined) =>
      unit === undefined
        ? ({ t: "\t", n: "\n", r: "\r" }[letter] ?? letter)
        : String.fromCharCode(Number.parseInt(unit, 16)),
    );
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.constantFrom("\t", "\n", "\r", "\\", "t", "n", "u", "2", "0", "e"),
          fc.constantFrom(
            "\u001b",
            "[",
            "m",
            "\u009b",
            "\u202e",
            "\u200b",
            "\u{e0041}",
            "ü",
            "\u200d",
          ),
        ),
      }),
      (text) => {
        expect(toRowField(text)).not.toMatch(/[\t\n\r]/);
        expect(toRowField(text)).not.toMatch(acted);
        expect(undo(toRowField(text))).toBe(text);
      },
    ),
    cases(),
  );
});

test("a line of a screen has emoji in parts, of which every terminal knows the width", () => {
  expect(toScreenLine("a \u{1f469}\u200d\u{1f469}\u200d\u{1f467} b")).toBe(
    "a \u{1f469}\u{1f469}\u{1f467} b",
  );
  expect(toScreenLine("\u2764\ufe0f\u200d\u{1f525}")).toBe("\u2764\u{1f525}");
  expect(toScreenLine("\u{1f44d}\u{1f3fd}!")).toBe("\u{1f44d}!");
  expect(toScreenLine("\u{1f9d1}\u{1f3fb}\u200d\u{1f680}")).toBe("\u{1f9d1}\u{1f680}");
  // Persian and Indic scripts need their joiners.
  expect(toScreenLine("\u0646\u0645\u06cc\u200c\u062e")).toBe("\u0646\u0645\u06cc\u200c\u062e");
});
