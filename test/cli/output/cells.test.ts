import { describe, expect, test } from "vitest";
import {
  size,
  time,
  toAgo,
  toExactCell,
  toHumanCell,
  toSizeText,
} from "../../../cli/output/cells.ts";

const now = Date.parse("2026-11-21T12:00:00Z");

describe("a cell", () => {
  test.each([
    ["text", "text", "text"],
    [null, "", ""],
    [undefined, "", ""],
    [0, "0", "0"],
    [true, "yes", "true"],
    [false, "no", "false"],
    [["a", "b"], "a, b", "a,b"],
    [size(1536), "1.5 KiB", "1536"],
    [size(null), "", ""],
    [time("2026-11-21T09:00:00.000Z"), "3 hours ago", "2026-11-21T09:00:00.000Z"],
    [time(now), "just now", "2026-11-21T12:00:00.000Z"],
    [time(null), "", ""],
    [time("1970-01-01T00:00:00Z"), "never", ""],
    [time(0), "never", ""],
  ])("%j is for people %j and for scripts %j", (cell, human, exact) => {
    expect(toHumanCell(cell, now)).toBe(human);
    expect(toExactCell(cell)).toBe(exact);
  });
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [1024 * 1024 - 1, "1.0 MiB"],
  [64 * 1024 * 1024, "64.0 MiB"],
  [5 * 1024 ** 4, "5.0 TiB"],
])("%i bytes are %s", (bytes, text) => {
  expect(toSizeText(bytes)).toBe(text);
});

test.each([
  ["2026-11-21T11:59:45Z", "just now"],
  ["2026-11-21T11:58:50Z", "1 minute ago"],
  ["2026-11-21T11:15:00Z", "1 hour ago"],
  ["2026-11-19T12:00:00Z", "2 days ago"],
  ["2026-10-01T12:00:00Z", "2 months ago"],
  ["2020-11-21T12:00:00Z", "6 years ago"],
  ["2026-11-23T12:00:00Z", "in 2 days"],
  ["0001-01-01T00:00:00Z", "never"],
  ["1970-01-01T00:00:00Z", "never"],
  ["no time", "no time"],
])("%s is %s", (at, text) => {
  expect(toAgo(at, now)).toBe(text);
});
