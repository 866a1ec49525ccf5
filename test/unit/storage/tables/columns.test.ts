import { expect, test } from "vitest";
import { id, integer, now, optional } from "../../../../storage/tables/columns.ts";

test("a column of integers refuses a fraction, and takes whole numbers and nothing", () => {
  for (const column of [integer(), id(), now(), optional(integer())]) {
    expect(() => column.write(0.5)).toThrow("a fraction cannot be stored as an integer");
    expect(column.write(-3)).toBe(-3);
  }
  expect(optional(integer()).write(undefined)).toBeNull();
});
