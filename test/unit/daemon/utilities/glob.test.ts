import { describe, expect, test } from "vitest";
import { compileGlob, GLOB_CHARACTERS_MAX } from "../../../../daemon/utilities/glob.ts";

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
  ["{,a}b", "b", true],
  ["{a,b*}", "bcd", true],
  ["{a,b*}c", "ac", true],
  ["{a,b*}c", "bac", true],
  ["{a,b*}c", "bab", false],
  ["[{]x", "{x", true],
  ["😀*", "😀😀", true],
  ["[😀-😂]", "😁", true],
  ["a*", `a${"b".repeat(40)}`, true],
  [`${"a".repeat(64)}?`, "a".repeat(65), true],
  [`${"a".repeat(64)}?`, "a".repeat(64), false],
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

  test("forty pairs of braces match without being expanded", () => {
    const matches = compileGlob(`${"{a,ab}".repeat(40)}c`);
    expect(matches?.(`${"ab".repeat(40)}c`)).toBe(true);
    expect(matches?.(`${"ab".repeat(40)}d`)).toBe(false);
  });

  test("stars of folders and of names together match a long path", () => {
    const matches = compileGlob(`${"**a*/".repeat(40)}b`, { isOfPaths: true });
    expect(matches?.(`${"xa/".repeat(1_000)}c`)).toBe(false);
    expect(matches?.(`${"xa/".repeat(1_000)}b`)).toBe(true);
  });
});
