import { describe, expect, test } from "vitest";
import { compileGlob, GLOB_CHARACTERS_MAX } from "../../../../../daemon/forge/repositories/glob.ts";

test.each([
  ["foo", "foo", true],
  ["foo", "fooo", false],
  ["*", "", true],
  ["*", "anything.at-all", true],
  ["bar*", "bartender", true],
  ["*bar*", "rebarred", true],
  ["a*b*c", "axxbxxc", true],
  ["a*b*c", "axxbxx", false],
  ["?", "ä", true],
  ["?", "ab", false],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["[!a-c]x", "dx", true],
  ["[]a]", "]", true],
  ["{one,two}-x", "two-x", true],
  ["{one,two}-x", "three-x", false],
  ["{a,b}{c,d}", "bd", true],
  ["\\*", "*", true],
  ["\\*", "x", false],
  ["", "", true],
  ["", "x", false],
  ["Foo", "foo", false],
])("the glob %j on %j is %j", (pattern, text, expected) => {
  expect(compileGlob(pattern)?.(text)).toBe(expected);
});

test.each(["[a", "[", "[z-a]", "{a", "a}", "{{a}}", "\\", "x".repeat(GLOB_CHARACTERS_MAX + 1)])(
  "%j cannot be understood",
  (pattern) => expect(compileGlob(pattern)).toBeUndefined(),
);

describe("patterns made to take long", () => {
  test("matching many stars takes at most the product of both lengths", () => {
    const fits = compileGlob(`${"*a".repeat(120)}b`);
    expect(fits?.("a".repeat(10_000))).toBe(false);
  });

  test("braces that expand to too many patterns are refused", () => {
    expect(compileGlob("{a,b}".repeat(40))).toBeUndefined();
  });
});
