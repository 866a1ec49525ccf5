import { expect, test } from "vitest";
import { CliError } from "../../../cli/errors.ts";
import { createLoad, phaseOf } from "../../../cli/ui/load.ts";

const failure = new CliError("server_error", "it broke");

test.each([
  ["loading before the first load has ended", false, undefined, 0, { kind: "loading" }],
  ["failed when nothing was loaded", false, failure, 0, { kind: "failed", failure }],
  [
    "failed when a list that was empty cannot be renewed",
    true,
    failure,
    0,
    { kind: "failed", failure },
  ],
  ["stale when rows cannot be renewed", true, failure, 3, { kind: "stale", failure }],
  ["empty without rows", true, undefined, 0, { kind: "empty" }],
  ["content with rows", true, undefined, 3, { kind: "content" }],
] as const)("a view is %s", (_name, wasLoaded, error, count, phase) => {
  expect(phaseOf({ wasLoaded, failure: error }, count)).toEqual(phase);
});

test("a load remembers that it succeeded once, and the error of the last one", async () => {
  let changes = 0;
  const load = createLoad(() => (changes += 1));
  await load.run(async () => undefined);
  expect([load.wasLoaded, load.failure, load.isLoading]).toEqual([true, undefined, false]);
  await load.run(async () => Promise.reject(failure));
  expect([load.wasLoaded, load.failure]).toEqual([true, failure]);
  await load.run(async () => undefined);
  expect([load.wasLoaded, load.failure]).toEqual([true, undefined]);
  expect(changes).toBe(6);
});

test("a later load supersedes an earlier one that is still running", async () => {
  const load = createLoad(() => undefined);
  const answered = Promise.withResolvers<void>();
  let wasCurrent: boolean | undefined;
  const first = load.run(async (isCurrent) => {
    await answered.promise;
    wasCurrent = isCurrent();
    throw failure;
  });
  await load.run(async () => undefined);
  answered.resolve();
  await first;
  expect(wasCurrent).toBe(false);
  expect([load.wasLoaded, load.failure, load.isLoading]).toEqual([true, undefined, false]);
});
