import { describe, expect, test } from "vitest";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import { withRetries } from "../../../../storage/cloud/retrying.ts";
import { createMemoryStorage } from "../../../support/cloud/memory-provider.ts";

const signal = new AbortController().signal;

/** The calls that a listing makes when all of them fail like this. */
async function callsOf(failure: Failure): Promise<number> {
  const storage = createMemoryStorage();
  const provider = withRetries(storage.connect(), {
    sleep: async () => undefined,
    random: () => 0,
  });
  storage.fail("list", ...Array<Failure>(9).fill(failure));
  expect(await provider.list({ folder: "", signal })).toEqual(failure);
  return storage.calls.length;
}

describe("a failed read", () => {
  test("a failed read is retried a few times", async () => {
    expect(await callsOf({ kind: "offline", sent: true, note: "ECONNRESET" })).toBe(4);
  });

  test.each(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "too_slow", "answer_too_long"])(
    "a failed read is not when all was waited for that may be: %s",
    async (note) => {
      expect(await callsOf({ kind: "offline", sent: true, note })).toBe(1);
    },
  );
});

test("the waits double up to a bound, and each is any part of that", async () => {
  const waitsOf = async (part: number) => {
    const waits: number[] = [];
    const storage = createMemoryStorage();
    const provider = withRetries(storage.connect(), {
      sleep: async (ms) => void waits.push(ms),
      random: () => part,
    });
    storage.fail("list", ...Array<Failure>(9).fill({ kind: "offline", sent: true }));
    await provider.list({ folder: "", signal });
    return waits;
  };
  expect(await waitsOf(1)).toEqual([200, 400, 800]);
  expect(await waitsOf(0.5)).toEqual([100, 200, 400]);
  expect(await waitsOf(0)).toEqual([0, 0, 0]);
});

test("a change whose preceding check timed out, so that it was never sent, is not retried", async () => {
  const storage = createMemoryStorage();
  const provider = withRetries(storage.connect(), {
    sleep: async () => undefined,
    random: () => 0,
  });
  const rename = async (note: string) => {
    storage.calls.length = 0;
    storage.fail("rename", ...Array<Failure>(9).fill({ kind: "offline", sent: false, note }));
    await provider.rename({ id: "a", name: "b", expected: {}, signal });
    storage.recover();
    return storage.calls.length;
  };
  expect(await rename("ECONNREFUSED")).toBe(3);
  expect(await rename("UND_ERR_HEADERS_TIMEOUT")).toBe(1);
});
