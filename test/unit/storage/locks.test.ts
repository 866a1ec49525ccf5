import { expect, test } from "vitest";
import { createLocks, createSemaphore } from "../../../storage/locks.ts";

test("holders of one lock run one after the other, also after a failure; other locks do not wait", async () => {
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

test("locks of several keys are acquired together, so opposite orders do not deadlock", async () => {
  const { withLocks } = createLocks();
  const seen = await Promise.all([
    withLocks(["a", "b"], async () => 1),
    withLocks(["b", "a"], async () => 2),
    withLocks(["a", "a"], async () => 3),
  ]);
  expect(seen).toEqual([1, 2, 3]);
});

test("a semaphore runs as many calls as it has permits, and the others in their order", async () => {
  const withPermit = createSemaphore({ permits: 2 });
  const seen: string[] = [];
  const gates = [1, 2, 3, 4].map(() => Promise.withResolvers<void>());
  const runs = gates.map((gate, index) =>
    withPermit(async () => {
      seen.push(`start ${index}`);
      await gate.promise;
      if (index === 0) throw new Error("failed");
    }),
  );
  expect(seen).toEqual(["start 0", "start 1"]);
  gates[0]?.resolve();
  await expect(runs[0]).rejects.toThrow("failed");
  await Promise.resolve();
  expect(seen).toEqual(["start 0", "start 1", "start 2"]);
  for (const gate of gates) gate.resolve();
  await Promise.all(runs.slice(1));
  expect(seen).toEqual(["start 0", "start 1", "start 2", "start 3"]);
});

test("a semaphore refuses calls beyond its queue with the given error, and admits calls again afterwards", async () => {
  const withPermit = createSemaphore({
    permits: 1,
    waitingMax: 1,
    toFullError: () => new RangeError("full"),
  });
  const gate = Promise.withResolvers<void>();
  const first = withPermit(() => gate.promise);
  const second = withPermit(async () => "second");
  await expect(withPermit(async () => "third")).rejects.toThrow(RangeError);
  gate.resolve();
  await first;
  expect(await second).toBe("second");
  expect(await withPermit(async () => "fourth")).toBe("fourth");
});
