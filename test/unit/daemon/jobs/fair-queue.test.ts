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
      queue.push({ caller, size, item: 0 }).kind === "queued";
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

  test("a caller with few items displaces the newest one of the caller with most", () => {
    const queue = createFairQueue<string>({ ...bounds, lengthMax: 4 });
    for (const item of ["a1", "a2", "a3", "b1"])
      queue.push({ caller: item.charAt(0), size: 1, item });
    const push = (item: string) => queue.push({ caller: item.charAt(0), size: 1, item });
    expect(push("c1")).toMatchObject({ kind: "queued", displaced: [{ item: "a3" }] });
    expect(push("a4")).toEqual({ kind: "full" });
    expect(push("d1")).toMatchObject({ kind: "queued", displaced: [{ item: "a2" }] });
    expect(push("e1")).toEqual({ kind: "full" });
    expect(queue.clear().map(({ item }) => item)).toEqual(["a1", "b1", "c1", "d1"]);
  });

  test("a small item displaces large ones when their size fills the queue", () => {
    const queue = createFairQueue<string>(bounds);
    queue.push({ caller: "a", size: 50, item: "a1" });
    queue.push({ caller: "a", size: 50, item: "a2" });
    expect(queue.push({ caller: "b", size: 40, item: "b1" })).toMatchObject({
      kind: "queued",
      displaced: [{ item: "a2" }],
    });
    expect(queue.push({ caller: "c", size: 55, item: "c1" })).toEqual({ kind: "full" });
    expect(queue.clear().map(({ item }) => item)).toEqual(["a1", "b1"]);
  });

  test("a refused item changes nothing, also when some others would have made room", () => {
    const queue = createFairQueue<string>({ ...bounds, lengthMax: 20 });
    const items = ["a", "b", "c"].flatMap((caller) => [1, 2, 3, 4].map((n) => `${caller}${n}`));
    for (const item of items) queue.push({ caller: item.charAt(0), size: 8, item });
    expect(queue.push({ caller: "d", size: 30, item: "d1" })).toEqual({ kind: "full" });
    expect(queue.clear().map(({ item }) => item)).toEqual(items);
  });

  test("callers of one group share one share of the places", () => {
    const queue = createFairQueue<string>({ ...bounds, lengthMax: 4 }, (caller) =>
      caller.startsWith("anonymous") ? "" : caller,
    );
    const push = (caller: string, item: string) => queue.push({ caller, size: 1, item });
    for (const n of [1, 2, 3]) push(`anonymous ${n}`, `n${n}`);
    push("anonymous 3", "n3b");
    expect(push("ann", "ann1")).toMatchObject({ displaced: [{ item: "n3b" }] });
    expect(push("ann", "ann2")).toMatchObject({ kind: "queued" });
    expect(push("ann", "ann3")).toEqual({ kind: "full" });
    expect(push("anonymous 4", "n4")).toEqual({ kind: "full" });
    expect(push("bob", "bob1")).toMatchObject({ kind: "queued" });
  });
});
