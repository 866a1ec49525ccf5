import { expect, test } from "vitest";
import { createTurns } from "../../../../storage/cloud/turns.ts";

test("work under one key runs one after the other, also after a failure; other keys do not wait", async () => {
  const turns = createTurns();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = turns.inTurn(["a"], async () => {
    await gate.promise;
    seen.push("first");
    throw new Error("failed");
  });
  const second = turns.inTurn(["a"], async () => seen.push("second"));
  await turns.inTurn(["b"], async () => seen.push("other"));
  const taken = ["a", "b", "c"].map((key) => turns.isTaken(key));
  expect(taken).toEqual([true, false, false]);
  gate.resolve();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(seen).toEqual(["other", "first", "second"]);
  expect(turns.isTaken("a")).toBe(false);
});

test("several keys are taken together, so that opposite wishes do not wait for each other", async () => {
  const { inTurn } = createTurns();
  const seen = await Promise.all([
    inTurn(["a", "b"], async () => 1),
    inTurn(["b", "a"], async () => 2),
    inTurn(["a", "a"], async () => 3),
  ]);
  expect(seen).toEqual([1, 2, 3]);
});
