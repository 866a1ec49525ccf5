import { expect, test } from "vitest";
import { createLocks } from "../../../../storage/cloud/locks.ts";

test("work under one key runs one after the other, also after a failure; other keys do not wait", async () => {
  const locks = createLocks();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = locks.withLocks(["a"], async () => {
    await gate.promise;
    seen.push("first");
    throw new Error("failed");
  });
  const second = locks.withLocks(["a"], async () => seen.push("second"));
  await locks.withLocks(["b"], async () => seen.push("other"));
  const taken = ["a", "b", "c"].map((key) => locks.isLocked(key));
  expect(taken).toEqual([true, false, false]);
  gate.resolve();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(seen).toEqual(["other", "first", "second"]);
  expect(locks.isLocked("a")).toBe(false);
});

test("several keys are taken together, so that opposite wishes do not wait for each other", async () => {
  const { withLocks } = createLocks();
  const seen = await Promise.all([
    withLocks(["a", "b"], async () => 1),
    withLocks(["b", "a"], async () => 2),
    withLocks(["a", "a"], async () => 3),
  ]);
  expect(seen).toEqual([1, 2, 3]);
});
