import { expect, test } from "vitest";
import { readTime, toExpiry } from "../../../cli/support/flag-values.ts";
import { toDueDate } from "../../../cli/support/issues.ts";

test("times are days or moments that exist", () => {
  expect(readTime("2028-02-29")).toBe(Date.UTC(2028, 1, 29));
  expect(readTime("2026-11-20T09:30:00+01:00")).toBe(Date.UTC(2026, 10, 20, 8, 30));
  expect(readTime("2026-11-20T09:30:00.5Z")).toBe(Date.UTC(2026, 10, 20, 9, 30, 0, 500));
  for (const text of ["2027-02-31", "2027-02-29T10:00:00Z", "2027-13-01", "5", "day 3", "2026"])
    expect(readTime(text)).toBeUndefined();
});

test("an expiry is a day, a moment with its zone, or a number of days", () => {
  expect(toExpiry("2d", 0)).toBe("1970-01-03T00:00:00.000Z");
  expect(toExpiry("2027-01-31", 0)).toBe("2027-01-31T00:00:00.000Z");
  for (const text of ["2027-01-31T12:00:00", "2027-02-31", "soon"])
    expect(() => toExpiry(text, 0)).toThrow("is not a time");
});

test("a due date that does not exist is refused", () => {
  expect(toDueDate("2026-12-31")).toBe("2026-12-31T00:00:00Z");
  expect(toDueDate("2026-12-31T12:00:00Z")).toBe("2026-12-31T12:00:00Z");
  expect(() => toDueDate("2026-11-31")).toThrow("a date is written as 2026-12-31");
});
