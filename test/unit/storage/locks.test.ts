import { expect, test } from "vitest";
import { createLocks, createSemaphore, createSemaphores } from "../../../storage/locks.ts";

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

test("holders of a shared lock run together, and exclusive holders run in the order of the calls between them", async () => {
  const locks = createLocks();
  const seen: string[] = [];
  const gates = [1, 2].map(() => Promise.withResolvers<void>());
  const share = (name: string, gate?: Promise<void>) =>
    locks.withSharedLock("a", async () => {
      seen.push(`${name} starts`);
      await gate;
      seen.push(`${name} ends`);
    });
  const shared = gates.map(({ promise }, at) => share(`reader ${at}`, promise));
  const exclusive = locks.withLocks(["a", "b"], async () => seen.push("writer"));
  const late = share("late reader");
  const last = locks.withLocks(["a"], async () => seen.push("last writer"));
  await locks.withSharedLock("c", async () => seen.push("other"));
  expect(seen).toEqual(["reader 0 starts", "reader 1 starts", "other"]);
  gates[1]?.resolve();
  await shared[1];
  expect(locks.isLocked("b")).toBe(true);
  gates[0]?.resolve();
  await Promise.all([...shared, exclusive, late, last]);
  expect(seen.slice(3)).toEqual([
    "reader 1 ends",
    "reader 0 ends",
    "writer",
    "late reader starts",
    "late reader ends",
    "last writer",
  ]);
  expect(["a", "b", "c"].map((key) => locks.isLocked(key))).toEqual([false, false, false]);
});

test("a failed holder of a shared lock releases it", async () => {
  const locks = createLocks();
  await expect(
    locks.withSharedLock("a", () => Promise.reject(new Error("failed"))),
  ).rejects.toThrow("failed");
  expect(await locks.withLocks(["a"], async () => "next")).toBe("next");
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

test("semaphores by key bound the calls of each key, and let no other key wait", async () => {
  const withPermit = createSemaphores({ permits: 1, waitingMax: 1 });
  const gate = Promise.withResolvers<void>();
  const first = withPermit("a", () => gate.promise);
  const second = withPermit("a", async () => "second");
  await expect(withPermit("a", async () => "third")).rejects.toThrow("too many calls wait");
  expect(await withPermit("b", async () => "other")).toBe("other");
  gate.resolve();
  await first;
  expect(await second).toBe("second");
  expect(await withPermit("a", async () => "next")).toBe("next");
});
