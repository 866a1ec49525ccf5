import { describe, expect, test } from "vitest";
import { createFairQueue } from "../../../../daemon/jobs/fair-queue.ts";

const bounds = { lengthMax: 10, lengthPerCallerMax: 4, sizeMax: 100 };
const always = () => true;

describe("fair queue", () => {
  test("serves callers round robin, and each caller's items in their order", () => {
    const queue = createFairQueue<string>(bounds);
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"])
      queue.push({ caller: item.charAt(0), size: 1, item });
    const served = Array.from({ length: 7 }, () => queue.shift(always)?.item);
    expect(served).toEqual(["a1", "b1", "c1", "a2", "c2", "a3", undefined]);
  });

  test("passes over callers that may not start now and keeps their items", () => {
    const queue = createFairQueue<string>(bounds);
    queue.push({ caller: "a", size: 1, item: "a1" });
    queue.push({ caller: "b", size: 1, item: "b1" });
    expect(queue.countCallers((caller) => caller !== "a")).toBe(1);
    expect(queue.shift((caller) => caller !== "a")?.item).toBe("b1");
    expect(queue.shift((caller) => caller !== "a")).toBeUndefined();
    expect(queue.shift(always)?.item).toBe("a1");
  });

  test("refuses what exceeds the bound of one caller, of all callers, or of size", () => {
    const push = (queue: ReturnType<typeof createFairQueue<number>>, caller: string, size = 1) =>
      queue.push({ caller, size, item: 0 });
    const perCaller = createFairQueue<number>(bounds);
    expect([1, 2, 3, 4, 5].map(() => push(perCaller, "a"))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(push(perCaller, "b")).toBe(true);
    const inAll = createFairQueue<number>(bounds);
    const accepted = Array.from({ length: 12 }, (_, n) => push(inAll, `caller ${n}`));
    expect(accepted.filter(Boolean)).toHaveLength(10);
    const bySize = createFairQueue<number>(bounds);
    expect([push(bySize, "a", 60), push(bySize, "b", 60), push(bySize, "b", 40)]).toEqual([
      true,
      false,
      true,
    ]);
    bySize.shift(always);
    expect(push(bySize, "c", 60)).toBe(true);
  });
});
