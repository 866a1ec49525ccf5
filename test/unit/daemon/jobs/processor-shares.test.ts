import { expect, test } from "vitest";
import { createProcessorShares } from "../../../../daemon/jobs/processor-shares.ts";

test("a share is used up by the sum of calls, and grows back evenly over the period", () => {
  let now = 0;
  const shares = createProcessorShares({ clock: () => now, shareMs: 60_000, periodMs: 300_000 });
  for (let call = 0; call < 30; call += 1) {
    shares.assertLeft("1");
    shares.book("1", 2_000);
  }
  shares.book("1", 2_000);
  const words =
    "The work for this account has used up its 60 seconds of processor time in 5 minutes: patterns, expressions, masks or files take too long. Try again in 11 seconds.";
  expect(() => shares.assertLeft("1")).toThrow(words);
  try {
    shares.assertLeft("1");
  } catch (error) {
    expect(error).toMatchObject({ code: "rate_limited", data: { retryAfterSeconds: 11 } });
  }
  shares.assertLeft("2");
  now = 9_999;
  expect(() => shares.assertLeft("1")).toThrow("Try again in 1 seconds");
  now = 11_000;
  shares.assertLeft("1");
  // What is booked shrinks to nothing, not below it.
  now = 900_000;
  shares.book("1", 59_999);
  shares.assertLeft("1");
  shares.book("1", 1);
  expect(() => shares.assertLeft("1")).toThrow("used up");
  // A clock that was set back gives nothing and takes nothing.
  now = 0;
  expect(() => shares.assertLeft("1")).toThrow("used up");
});
