import fc from "fast-check";
import { expect, test } from "vitest";
import { toNext } from "../../../../daemon/jobs/cron-task.ts";
import { cronSchedule } from "../../../../daemon/settings/cron-schedule.ts";
import type { ReadContext } from "../../../../daemon/settings/types.ts";
import { cases } from "../../../support/property.ts";

const context: ReadContext = { resolvePath: (path) => path, pathSeparator: ":" };
const read = (input: unknown) => cronSchedule.read(input, context);

test.each([
  "45 3 * * *",
  "* * * * *",
  "*/15 8-18 * * mon-fri",
  "0 0,12 1-7/2 JAN,jul 0",
  "0 4 31 2 sun",
  "0 4 29 2 *",
  "@daily",
  "@hourly",
  "@every 6h",
])("accepts the schedule %s", (schedule) => {
  expect(read(schedule)).toBe(schedule);
});

test.each([
  "",
  "45 3 * *",
  "45 3 * * * *",
  "60 3 * * *",
  "5-1 3 * * *",
  "*/0 3 * * *",
  "5/2 3 * * *",
  "0 3 0 * *",
  "0 3 31 feb *",
  "0 3 30,31 2 *",
  "0 3 L * *",
  "@every 0h",
  "@every 5s",
  "@fortnightly",
  "0 3 * * someday",
  7,
])("refuses %j as a schedule", (schedule) => {
  expect(read(schedule)).toBeUndefined();
});

test("blanks around and between the fields do not count", () => {
  expect(read("  45  3 * *\t* ")).toBe("45 3 * * *");
});

test("the scheduler runs every schedule that is accepted", () => {
  const field = (min: number, max: number) => {
    const value = fc.integer({ min, max }).map(String);
    const range = fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map(([from, to]) => `${from}-${to}`);
    const step = fc.integer({ min: 1, max: 12 }).map(String);
    const part = fc.oneof(
      fc.constant("*"),
      value,
      range,
      fc.tuple(fc.oneof(fc.constant("*"), range), step).map((parts) => parts.join("/")),
    );
    return fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));
  };
  const schedules = fc
    .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
    .map((fields) => fields.join(" "));
  fc.assert(
    fc.property(schedules, (text) => {
      const schedule = read(text);
      fc.pre(schedule !== undefined);
      const after = Date.parse("2026-11-24T12:00:00Z");
      expect(toNext(schedule, "UTC")(after)).toBeGreaterThan(after);
    }),
    cases(300),
  );
});
