import { expect, test } from "vitest";
import { isAsSent, isSameSpelling } from "../../../../storage/cloud/comparison.ts";
import { toTemporaryName } from "../../../../storage/cloud/temporary-names.ts";

test.each([
  ["a", "A", true],
  ["\u00e4", "A\u0308", true],
  ["a", "b", false],
  ["\u03a3\u03a3\u03a3", "\u03c3\u03c3\u03c3", true],
  ["stra\u00dfe", "STRASSE", false],
])("%j and %j: one name is %s", (one, other, expected) => {
  expect(isSameSpelling(one, other)).toBe(expected);
});

test("a name counts as sent only in the same case, composed or decomposed", () => {
  expect(isAsSent("\u00e4.txt", "a\u0308.txt")).toBe(true);
  expect(isAsSent("A.txt", "a.txt")).toBe(false);
});

test("a temporary name encodes its target, and fits", () => {
  const by = { newId: () => "01a1fe9f-65f9-727c-939d-cd9713bf8f38", home: "h0me" };
  expect(toTemporaryName("REPORT.txt", by)).toBe("REPORT.txt.croft-h0me-cd9713bf8f38");
  for (const name of ["x".repeat(255), "\u{1f600}".repeat(63), "\u00e4".repeat(127)]) {
    const stopover = toTemporaryName(name, by);
    expect(Buffer.byteLength(stopover)).toBeLessThanOrEqual(255);
    expect(stopover).toMatch(/\.croft-h0me-cd9713bf8f38$/);
    expect(stopover.isWellFormed()).toBe(true);
  }
});
