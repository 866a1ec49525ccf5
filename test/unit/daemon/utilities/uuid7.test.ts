import { describe, expect, test } from "vitest";
import { createUuid7 } from "../../../../daemon/utilities/uuid7.ts";

describe("an id", () => {
  test("an id is a UUID of version 7 that begins with the time", () => {
    const newId = createUuid7(
      () => 0x01_9a_bc_de_f0_12,
      (length) => new Uint8Array(length).fill(0xff),
    );
    expect(newId()).toBe("019abcde-f012-7fff-bfff-ffffffffffff");
  });

  test("an id of a later millisecond sorts after an earlier one", () => {
    let now = 1;
    const newId = createUuid7(
      () => now,
      (length) => crypto.getRandomValues(new Uint8Array(length)),
    );
    const ids = Array.from({ length: 100 }, () => {
      now += 1;
      return newId();
    });
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(100);
  });
});
