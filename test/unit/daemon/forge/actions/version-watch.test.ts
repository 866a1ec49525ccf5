import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createVersionWatch } from "../../../../../daemon/forge/actions/protocol/version-watch.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function newWatch(versions: () => number) {
  const read = vi.fn<() => Promise<number>>(async () => versions());
  return { read, watch: createVersionWatch({ read, everyMs: 50 }) };
}

const never = new AbortController().signal;

describe("the watch of the queue's version", () => {
  test("the watch of the queue's version answers at once when the version differs", async () => {
    const { watch } = newWatch(() => 7);
    expect(await watch.wait(6, 3_000, never)).toBe(7);
  });

  test("the watch of the queue's version answers all waiting requests with one query", async () => {
    let version = 1;
    const { watch, read } = newWatch(() => version);
    const waiting = Array.from({ length: 100 }, () => watch.wait(1, 3_000, never));
    await vi.advanceTimersByTimeAsync(1_000);
    version = 2;
    await vi.advanceTimersByTimeAsync(100);
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 100 }, () => 2));
    // The first look of each, and one every 50 ms.
    expect(read.mock.calls.length).toBeLessThan(100 + 25);
  });

  test("the watch of the queue's version answers the known version after the timeout, and stops polling", async () => {
    const { watch, read } = newWatch(() => 1);
    const waiting = watch.wait(1, 200, never);
    await vi.advanceTimersByTimeAsync(300);
    expect(await waiting).toBe(1);
    const { length } = read.mock.calls;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(read.mock.calls).toHaveLength(length);
  });

  test("the watch of the queue's version answers when the request ends", async () => {
    const { watch } = newWatch(() => 1);
    const request = new AbortController();
    const waiting = watch.wait(1, 3_000, request.signal);
    await vi.advanceTimersByTimeAsync(10);
    request.abort();
    expect(await waiting).toBe(1);
  });

  test("the watch of the queue's version passes an error to current waiters, and serves later ones", async () => {
    let isBroken = false;
    const { watch } = newWatch(() => {
      if (isBroken) throw new Error("the database is away");
      return 1;
    });
    const waiting = watch.wait(1, 3_000, never).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    isBroken = true;
    await vi.advanceTimersByTimeAsync(100);
    expect(await waiting).toEqual(new Error("the database is away"));
    isBroken = false;
    const later = watch.wait(1, 100, never);
    await vi.advanceTimersByTimeAsync(200);
    expect(await later).toBe(1);
  });
});
