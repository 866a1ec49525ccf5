import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createReserve } from "../../../storage/reserve.ts";

const RESERVE_BYTES = 8 * 1024 * 1024;

describe("the disk reserve", () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "croft-reserve-"));
    path = join(folder, "reserve");
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("occupies its bytes, is free while work spends it, and is occupied again after", async () => {
    const reserve = createReserve(path);
    await reserve.refill();
    expect((await stat(path)).size).toBe(RESERVE_BYTES);
    const seen = await reserve.spend(new Error("full"), async () =>
      stat(path).then(
        () => "occupied",
        () => "free",
      ),
    );
    expect(seen).toBe("free");
    expect((await stat(path)).size).toBe(RESERVE_BYTES);
    expect(await reserve.hasSpace()).toBe(true);
  });

  test("is occupied again after work that fails, whose error it passes on", async () => {
    const reserve = createReserve(path);
    await reserve.refill();
    await expect(
      reserve.spend(new Error("full"), async () => Promise.reject(new Error("still full"))),
    ).rejects.toThrow("still full");
    expect((await stat(path)).size).toBe(RESERVE_BYTES);
  });

  test("rejects with the first failure when there is no reserve, without running the work", async () => {
    const reserve = createReserve(path);
    let runs = 0;
    await expect(
      reserve.spend(new Error("full"), async () => {
        runs += 1;
      }),
    ).rejects.toThrow("full");
    expect(runs).toBe(0);
    expect(await reserve.hasSpace()).toBe(false);
  });

  test("lets simultaneous requests spend it one after another", async () => {
    const reserve = createReserve(path);
    await reserve.refill();
    const order: string[] = [];
    const work = (name: string) =>
      reserve.spend(new Error("full"), async () => {
        order.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${name} ends`);
      });
    await Promise.all([work("first"), work("second")]);
    expect(order).toEqual(["first begins", "first ends", "second begins", "second ends"]);
  });
});
